import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, modern } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { builtins, postTo } from '../servers/profile-servers.ts';
import { recordingServer, text } from '../servers/recording-server.ts';

const TOOLS = { echo: () => text('x'), wipe: () => text('x') };

/** A gateway with a server `u`, and a profile in which its tools have bare names. */
async function gateway() {
  const define = (name: string) => ({
    inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
    ...(name === 'wipe' && { annotations: { destructiveHint: true } }),
  });
  const config = { builtins, approvals: { keepOpenMs: 0 }, profiles: { bare: { naming: 'bare' } } };
  const made = await gatewayUnderTest({ servers: { u: recordingServer(TOOLS, define) }, config });
  return async (profile: string | undefined, name: string, input: JsonObject = {}) => {
    const { json } = await postTo(made, profile)(...modern('tools/call', { name, arguments: input }));
    return JSON.stringify(json);
  };
}

describe('a message to a client of a profile with bare names', () => {
  it.each([
    ['of arguments that do not fit', 'echo', { n: 'x' }, 'The arguments of echo do not fit'],
    ['of a tool that needs approval', 'wipe', {}, '[APPROVAL_PENDING] wipe waits for the approval'],
    ['of a name that is nearly right', 'ecko', {}, 'Did you mean echo?'],
  ])('P2: %s has the bare name', async (_, name, input, message) => {
    const call = await gateway();
    expect(await call('bare', name, input)).toContain(message);
  });

  verifies('P2', 'says the public name to a client without a profile', async () => {
    const call = await gateway();
    expect(await call(undefined, 'u.echo', { n: 'x' })).toContain('The arguments of mcp__u__echo do not fit');
    expect(await call(undefined, 'mcp__u__ecko')).toContain('Did you mean mcp__u__echo?');
  });
});

describe('advice on an unknown name', () => {
  it.each([
    ['tools/call', { name: 'zzzzzz', arguments: {} }, 'heddle list tools'],
    ['prompts/get', { name: 'zzzzzz' }, 'heddle list prompts'],
    ['resources/read', { uri: 'note://zzzzzz' }, 'heddle list resources'],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'zzzzzz' }, argument: { name: 'a', value: '' } },
      'heddle list prompts',
    ],
  ])('L5: of %s names the list it would be in', async (method, params, advice) => {
    const { post } = await gatewayUnderTest();
    const [message, headers] = modern(method, params as JsonObject);
    const named = 'uri' in params ? { 'mcp-name': String(params.uri) } : {};
    const { json } = await post(message, { ...headers, ...named });
    expect((json.error as JsonObject).message).toContain(advice);
    if (method !== 'tools/call') expect(JSON.stringify(json)).not.toContain('list tools');
  });
});
