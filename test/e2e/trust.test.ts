import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { connector, servers, zipOf } from '../../src/config/fixtures.ts';
import { openHeddle } from '../../src/index.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';

const entry = (...args: string[]) => ({ command: process.execPath, args: [join(SERVERS, 'pid-server.mjs'), ...args] });
const strange = (files: Record<string, object>) => project(files, { trusted: false });

verifies('C11', 'a server of a project does not start before the user has trusted it', async () => {
  const mark = 'started';
  const command = `require('fs').writeFileSync(${JSON.stringify(mark)}, '')`;
  const { heddle, folder } = strange({
    '.mcp.json': { mcpServers: { evil: { command: 'node', args: ['-e', command] } } },
  });
  const called = await heddle(['call', 'evil.tool']);
  expect(called).toMatchObject({ code: 3, stdout: '' });
  expect(called.stderr).toMatch(/SERVER_UNTRUSTED.*would run node -e.*heddle trust evil/s);
  for (const args of [['list', 'tools'], ['list', 'servers', '--check'], ['doctor'], ['doctor', 'evil']]) {
    const { stdout, stderr } = await heddle(args);
    expect(stdout + stderr).toContain('untrusted');
  }
  expect(existsSync(join(folder, mark))).toBe(false);
});

verifies('C11', 'prompts once, and again when the command has changed', async () => {
  const { heddle, folder, home } = strange({ 'heddle.json': { mcpServers: { one: entry(), two: entry() } } });
  expect(await heddle(['trust'])).toMatchObject({ code: 3, stderr: expect.stringContaining('--yes') });
  expect(await heddle(['trust', 'one', '--yes'])).toMatchObject({ code: 0 });
  expect(await heddle(['call', 'one.who'])).toMatchObject({ code: 0 });
  expect(await heddle(['call', 'two.who'])).toMatchObject({ code: 3 });
  expect(statSync(join(home, 'trust.json')).mode & 0o777).toBe(0o600);

  writeFileSync(join(folder, 'heddle.json'), JSON.stringify({ mcpServers: { one: entry('--other') } }));
  expect(await heddle(['call', 'one.who'])).toMatchObject({ code: 3 });
  expect(JSON.parse((await heddle(['trust', '--json'])).stdout)).toMatchObject([{ thing: 'server one' }]);
  expect(await heddle(['trust', '--yes'])).toMatchObject({ code: 0 });
  expect(await heddle(['call', 'one.who'])).toMatchObject({ code: 0 });
  expect(await heddle(['trust', '--forget'])).toMatchObject({ code: 0 });
  expect(await heddle(['call', 'one.who'])).toMatchObject({ code: 3 });
});

verifies(
  'C11',
  'trusts what the user names: --config, --trust-project, an ad-hoc command, user configuration',
  async () => {
    const files = { 'heddle.json': { mcpServers: { one: entry() } } };
    const { heddle } = strange(files);
    expect(await heddle(['call', 'one.who', '--config', 'heddle.json'])).toMatchObject({ code: 0 });
    expect(await heddle(['call', 'one.who', '--trust-project'])).toMatchObject({ code: 0 });
    const [script] = entry().args;
    expect(await heddle(['call', '--', process.execPath, script as string, '::', 'who'])).toMatchObject({ code: 0 });
    expect(await heddle(['add', 'mine', '--', process.execPath, script as string])).toMatchObject({ code: 0 });
    expect(await heddle(['call', 'mine.who'])).toMatchObject({ code: 0 });
    expect(await heddle(['call', 'one.who'])).toMatchObject({ code: 3 });
  },
);

verifies('C11', 'a program gets the servers of a project only with trustProject', async () => {
  const { folder, env } = strange({ '.mcp.json': { one: entry() } });
  const careful = await openHeddle({ cwd: folder, env });
  await expect(careful.call('one.who')).rejects.toMatchObject({ code: 'SERVER_UNTRUSTED' });
  await careful.close();
  const trusting = await openHeddle({ cwd: folder, env, trustProject: true });
  await expect(trusting.call('one.who')).resolves.toMatchObject({ isError: false });
  await trusting.close();
});

it('applies stricter permissions of an untrusted project, and no looser ones', async () => {
  const settings = { mode: 'open', permissions: { allow: ['mcp__x'], deny: ['mcp__y'] }, gateway: { host: '0.0.0.0' } };
  const { heddle } = strange({ 'heddle.json': settings });
  const effective = async (key: string) => {
    const { stdout } = await heddle(['config', 'explain', key, '--json']);
    return JSON.parse(stdout)[0].value;
  };
  expect(await effective('mode')).toBe('guarded');
  expect(await effective('permissions.allow')).toEqual([]);
  expect(await effective('permissions.deny')).toEqual(['mcp__y']);
  expect(await effective('gateway.host')).toBe('127.0.0.1');
  expect((await heddle([])).stderr).toMatch(/heddle\.json came with this project and is untrusted.*heddle trust/s);
  await heddle(['trust', '--yes']);
  expect(await effective('mode')).toBe('open');
});

verifies('C11', 'the trust prompt shows the whole command with environment and arguments', async () => {
  const spoof = {
    type: 'stdio',
    command: 'sh',
    args: ['-c', 'evil'],
    url: 'https://docs.example',
    env: { NODE_OPTIONS: '-r x' },
  };
  const { heddle } = strange({ '.mcp.json': { mcpServers: { docs: spoof } } });
  const { stdout } = await heddle(['trust']);
  expect(stdout).toContain('server docs would run sh -c evil\n');
  expect(stdout).toContain('env: {"NODE_OPTIONS":"-r x"}');
});

verifies('C11', 'a running gateway applies trust and its revocation', async () => {
  const { heddle, up } = strange({ '.mcp.json': { mcpServers: { one: entry() } } });
  const { url, token, stderr } = await up();
  const code = async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'one.who' } };
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    return /"text":"(\[\w+\]|[0-9a-f-]+)/.exec(await answer.text())?.[1];
  };
  expect(await code()).toBe('[SERVER_UNTRUSTED]');
  await heddle(['trust', '--yes']);
  await until('the server may start', async () => /^[0-9a-f]/.test(String(await code())));
  await until('the reload is reported', () => stderr().endsWith('The configuration was read again and is in force.\n'));
  await heddle(['trust', '--forget']);
  await until('the server is refused', async () => (await code()) === '[SERVER_UNTRUSTED]');
});

it('trusts a bundle by its content and does not unpack it before', async () => {
  const manifest = (script: string) => ({
    name: 'packed',
    server: { type: 'node', entry_point: script, mcp_config: { command: 'node', args: [`\${__dirname}/${script}`] } },
  });
  const { heddle, folder, home } = strange({});
  const pack = (script: string) => {
    mkdirSync(join(folder, '.heddle/plugins'), { recursive: true });
    const files = {
      'manifest.json': JSON.stringify(manifest(script)),
      [script]: readFileSync(entry().args[0] as string, 'utf8'),
    };
    writeFileSync(join(folder, '.heddle/plugins/packed.mcpb'), zipOf(files));
  };
  pack('one.mjs');
  expect((await heddle(['list', 'servers'])).stderr).toContain('packed.mcpb came with this project and is untrusted');
  expect(existsSync(join(home, 'bundles'))).toBe(false);
  await heddle(['trust', '--yes']);
  expect(await heddle(['call', 'packed.who'])).toMatchObject({ code: 0 });
  pack('two.mjs');
  expect(await heddle(['call', 'packed.who'])).toMatchObject({ code: 2 });
});

it('a changed trust file trusts nothing', async () => {
  const { heddle, home } = strange({ '.mcp.json': { one: entry() } });
  await heddle(['trust', '--yes']);
  const file = join(home, 'trust.json');
  writeFileSync(file, readFileSync(file, 'utf8').slice(0, -5));
  expect(await heddle(['call', 'one.who'])).toMatchObject({ code: 3 });
});

verifies('C11', 'with --yes, trusts only what a review before it shows', async () => {
  const { url } = await connector(servers({ mcpServers: { far: entry() } }));
  const { heddle } = strange({
    'heddle.json': { connectors: [{ name: 'corp', url }], workflows: { flow: './flow.json' }, mode: 'open' },
    'flow.json': { name: 'flow', steps: [] },
  });
  const trusted = await heddle(['trust', '--yes']);
  expect(trusted).toMatchObject({ code: 0 });
  expect(trusted.stderr).toContain('Trusted: settings heddle.json, connector corp.\n');
  expect(trusted.stderr).toContain('They name more that waits for trust: workflow flow.json, server far.');
  expect(await heddle(['call', 'far.who'])).toMatchObject({ code: 3 });
  expect((await heddle(['trust'])).stdout).toContain('server far would run');
  await heddle(['trust', '--yes']);
  expect(await heddle(['call', 'far.who'])).toMatchObject({ code: 0 });
});

verifies('C11', 'a name means the server, not a connector of the same name', async () => {
  const { heddle } = strange({
    '.mcp.json': { mcpServers: { github: entry() } },
    'heddle.json': { connectors: [{ name: 'github', url: 'https://evil.example' }] },
  });
  expect((await heddle(['trust', 'github', '--yes'])).stderr).toBe('Trusted: server github.\n');
});
