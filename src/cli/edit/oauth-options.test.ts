import { afterEach, describe, expect, it, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { readInput } from '../command.ts';
import { add } from '../commands/add.ts';
import { oauthFieldsOf } from './oauth-options.ts';

const read = (...argv: readonly string[]) => oauthFieldsOf(readInput(add, ['https://x.example/mcp', ...argv]));

afterEach(() => vi.unstubAllEnvs());

describe('the options of OAuth', () => {
  verifies('A2', 'become the field oauth of the entry', async () => {
    vi.stubEnv('MCP_CLIENT_SECRET', 'typed');
    const given = ['--client-id', 'abc', '--client-secret', '--callback-port', '8085'];
    expect(await read(...given, '--oauth-scope', 'read', '--oauth-scope', 'write admin')).toEqual({
      oauth: { clientId: 'abc', clientSecret: 'typed', callbackPort: 8085, scopes: ['read', 'write', 'admin'] },
    });
    expect(await read()).toBeUndefined();
  });

  verifies('A4', 'include the command of a headers helper', async () => {
    expect(await read('--headers-helper', './token.sh --json')).toEqual({ headersHelper: './token.sh --json' });
  });

  it.each([
    ['a secret without a client', ['--client-secret'], '--client-secret needs --client-id'],
    ['a secret that cannot be asked for', ['--client-id', 'a', '--client-secret'], 'There is no client secret'],
    ['the port 0', ['--callback-port', '0'], '--callback-port has to be'],
    ['a port that is no number', ['--callback-port', 'x'], '--callback-port has to be'],
    ['a port above 65535', ['--callback-port', '65536'], '--callback-port has to be'],
    ['a helper and a client', ['--client-id', 'a', '--headers-helper', 'x'], 'exclude each other'],
  ])('A2: are refused with %s', async (_, argv, message) => {
    vi.stubEnv('MCP_CLIENT_SECRET', '');
    await expect(read(...argv)).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringContaining(message),
    });
  });
});
