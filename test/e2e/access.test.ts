import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { SDK_CLIENTS } from '../servers/sdk-clients.ts';
import { until } from '../until.ts';
import { BIN, project, SERVERS } from './heddle-command.ts';

const odd = { command: process.execPath, args: [join(SERVERS, 'odd-tools.mjs')] };

async function ping(url: string, token?: string): Promise<number> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  return (await fetch(url, { method: 'POST', headers, body })).status;
}

describe('heddle key', () => {
  verifies('P4', 'creates a key and shows it once; a running gateway refuses it once it is revoked', async () => {
    const { up, heddle, home } = project();
    const { url } = await up();
    const made = await heddle(['key', 'create', 'ci']);
    const key = made.stdout.trim();
    expect([made.code, key]).toEqual([0, expect.stringMatching(/^hk_[\w-]{43}$/)]);
    expect(await ping(url, key)).toBe(200);
    const listed = await heddle(['key', 'list', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'ci', roles: ['user'], from: 'store' }]);
    expect((await heddle(['key', 'revoke', 'ci'])).code).toBe(0);
    expect(await ping(url, key)).toBe(401);
    expect(await heddle(['key', 'revoke', 'ci'])).toMatchObject({ code: 2, stdout: '' });
    expect(readFileSync(join(home, 'heddle.sqlite')).includes(key)).toBe(false);
  });

  verifies('P4', 'accepts roles and a profile, and names what is invalid', async () => {
    const { heddle } = project({ 'heddle.json': { profiles: { files: {} } } });
    const roles = ['--role', 'user', '--role', 'approver'];
    const made = await heddle(['key', 'create', 'desk', ...roles, '--profile', 'files', '--json']);
    expect(JSON.parse(made.stdout)).toMatchObject({ name: 'desk', roles: ['approver', 'user'], profile: 'files' });
    const refused: readonly [readonly string[], string][] = [
      [['create', 'desk'], 'There is a key desk already'],
      [['create', 'a/b'], 'cannot be the name'],
      [['create', 'x', '--role', 'usr'], 'Did you mean user?'],
      [['create', 'x', '--profile', 'flies'], 'There is no profile flies'],
      [['crate', 'x'], 'Did you mean `heddle key create`?'],
      [['create'], 'takes one name'],
    ];
    for (const [args, message] of refused) {
      const { code, stderr, stdout } = await heddle(['key', ...args]);
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
    }
  });
});

describe('heddle up', () => {
  const profiles = { some: { servers: ['odd'], tools: ['plain'], naming: 'bare' }, open: { auth: 'none' } };

  verifies('P2', '--profile serves one profile at /mcp with the names of the profile', async () => {
    const { up, heddle } = project({ 'heddle.json': { mcpServers: { odd }, profiles } });
    const { url, token } = await up(['--port', '0', '--profile', 'some']);
    for (const [, connect] of SDK_CLIENTS) {
      const client = await connect({ url, token });
      expect((await client.list()).map(({ name }) => name)).toEqual(['plain']);
      expect(await client.call('plain', { message: 'x' })).toMatchObject({ content: [{ text: 'x' }] });
      await expect(client.call('filesystem.fs_read_file', { path: 'heddle.json' })).rejects.toThrow();
      await client.close();
    }
    const refused = await heddle(['up', '--port', '0', '--profile', 'sme']);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('Did you mean --profile some?')]);
  });

  verifies('P4', 'refuses to listen on another host without authentication', async () => {
    const { heddle, folder } = project({ 'heddle.json': { gateway: { host: '0.0.0.0', port: 0 }, profiles } });
    const { code, stderr } = await heddle(['up']);
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining('may not listen on 0.0.0.0: `profiles.open.auth` is "none"'),
    ]);
    writeFileSync(join(folder, 'heddle.json'), JSON.stringify({ gateway: { host: '0.0.0.0', auth: 'none' } }));
    expect((await heddle(['up', '--port', '0', '--trust-project'])).stderr).toContain('`gateway.auth` is "none"');
  });

  verifies('P4', 'applies changed keys and profiles of the configuration while it runs', async () => {
    const key = 'hk_from-the-configuration';
    const sha256 = createHash('sha256').update(key).digest('hex');
    const { up, folder, heddle } = project({ 'heddle.json': {} });
    const { url } = await up();
    expect(await ping(url, key)).toBe(401);
    const write = (config: object) => writeFileSync(join(folder, 'heddle.json'), JSON.stringify(config));
    write({ gateway: { apiKeys: [{ name: 'ci', sha256, profile: 'p' }] }, profiles: { p: {} } });
    expect((await heddle(['trust', '--yes'])).code).toBe(0);
    await until('the key is accepted', async () => (await ping(`${url}/p`, key)) === 200);
    write({});
    await until('the key is refused', async () => (await ping(url, key)) === 401);
  });
});

verifies('P2', 'heddle serve --stdio --profile serves one profile', async () => {
  const { folder, env } = project({
    'heddle.json': { mcpServers: { odd }, profiles: { some: { tools: ['odd.plain'] } } },
  });
  const args = [BIN, 'serve', '--stdio', '--profile', 'some', '--trust-project'];
  for (const [, connect] of SDK_CLIENTS) {
    const client = await connect({ command: process.execPath, args, cwd: folder, env });
    expect((await client.list()).map(({ name }) => name)).toEqual(['mcp__odd__plain']);
    await client.close();
  }
});
