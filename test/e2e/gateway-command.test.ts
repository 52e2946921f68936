import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { alive, carriersOf } from '../alive.ts';
import { verifies } from '../requirements.ts';
import { SDK_CLIENTS } from '../servers/sdk-clients.ts';
import { until } from '../until.ts';
import { BIN, project, SERVERS } from './heddle-command.ts';

const odd = { command: process.execPath, args: [join(SERVERS, 'odd-tools.mjs')] };

async function takenPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('heddle up', () => {
  verifies('L7', 'prints url, token and pid in one line, writes a private gateway.json and removes it', async () => {
    const { up, home } = project();
    const running = await up();
    const { url, token, pid } = running;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    const note = join(home, 'gateway.json');
    expect(JSON.parse(await readFile(note, 'utf8'))).toMatchObject({ url, token, pid });
    expect((await stat(note)).mode & 0o777).toBe(0o600);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    expect(await (await fetch(url, { method: 'POST', headers, body })).json()).toMatchObject({ result: {} });
    expect(alive(pid)).toBe(true);
    expect(await running.stop()).toBe(0);
    expect([existsSync(note), alive(pid)]).toEqual([false, false]);
  });

  verifies('L7', 'keeps its token over restarts and accepts a preset one', async () => {
    const { up } = project();
    const first = await up();
    await first.stop();
    expect((await up()).token).toBe(first.token);
    const preset = await up(['--port', '0'], { HEDDLE_TOKEN: 'my-own-token' });
    expect(preset.token).toBe('my-own-token');
    const response = await fetch(preset.url, { headers: { authorization: `Bearer ${first.token}` } });
    expect(response.status).toBe(401);
  });

  verifies('L7', 'takes another port if the default one is in use and reports it, but not for --port', async () => {
    const port = await takenPort();
    const { up, heddle } = project({ 'heddle.json': { gateway: { port } } });
    const running = await up([]);
    expect(Number(new URL(running.url).port)).toBeGreaterThan(port);
    expect(running.stderr()).toContain(`Port ${port} is taken; using ${new URL(running.url).port}.`);
    const refused = await heddle(['up', '--port', String(port)]);
    expect([refused.code, refused.stdout]).toEqual([3, '']);
    expect(refused.stderr).toContain(`127.0.0.1:${port}: the port is taken`);
  });

  verifies('L7', 'reads only the file of --config', async () => {
    const { up, heddle } = project({
      'heddle.json': { mcpServers: { odd } },
      'only.json': { mcpServers: { one: odd } },
    });
    const { url, token } = await up(['--port', '0', '--config', 'only.json']);
    const response = await fetch(new URL('/api/servers', url), { headers: { authorization: `Bearer ${token}` } });
    const { servers } = (await response.json()) as { servers: { name: string }[] };
    expect(servers.map(({ name }) => name)).toEqual(['one', 'filesystem']);
    expect((await heddle(['up', '--port', '0', '--config', 'none.json'])).code).toBe(3);
  });

  verifies('L7', 'is found by other commands, which show its live state', async () => {
    const { up, heddle } = project({ 'heddle.json': { mcpServers: { odd } } });
    const { url, token, pid } = await up();
    const before = JSON.parse((await heddle(['list', 'servers', '--json'])).stdout);
    expect(before).toMatchObject([{ name: 'odd', state: 'pending', attempt: [0, 1] }, { name: 'filesystem' }]);
    const [[, connect] = []] = SDK_CLIENTS;
    const client = await connect?.({ url, token });
    await client?.call('mcp__odd__plain', { message: 'x' });
    await client?.close();
    const after = JSON.parse((await heddle(['list', 'servers', '--json'])).stdout);
    expect(after).toMatchObject([{ name: 'odd', state: 'connected', tools: 7 }, { name: 'filesystem' }]);
    expect(JSON.parse((await heddle(['--json'])).stdout)).toMatchObject({ gateway: { url, pid } });
  });
});

verifies('L7', 'replaces the gateway.json of a killed gateway, even if its pid is in use again', async () => {
  const { home, up } = project();
  mkdirSync(home, { recursive: true });
  const stale = { url: 'http://127.0.0.1:1/mcp', token: 'gone', pid: process.pid, project: '/gone' };
  writeFileSync(join(home, 'gateway.json'), JSON.stringify(stale));
  const { url, pid, stderr } = await up();
  expect(JSON.parse(readFileSync(join(home, 'gateway.json'), 'utf8'))).toMatchObject({ url, pid });
  expect(stderr()).toBe('');
});

const waiting = { command: process.execPath, args: [join(SERVERS, 'pid-server.mjs')] };
const waitFor = (after: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'mcp__waiting__who', arguments: { after } },
});

verifies('P6', 'heddle up answers requests in flight before it ends', async () => {
  const { up, folder } = project({ 'heddle.json': { mcpServers: { waiting } } });
  const { url, token, stop } = await up();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const ask = (message: object) => fetch(url, { method: 'POST', headers, body: JSON.stringify(message) });
  await (await ask({ jsonrpc: '2.0', id: 0, method: 'tools/list' })).json();
  const go = join(folder, 'go');
  const answer = ask(waitFor(go)).then((response) => response.json());
  await (await ask({ jsonrpc: '2.0', id: 2, method: 'ping' })).json();
  const stopped = stop();
  await until('new connections are refused', () =>
    fetch(new URL('/healthz', url)).then(
      () => false,
      () => true,
    ),
  );
  writeFileSync(go, '');
  expect(await answer).toMatchObject({ id: 1, result: { content: [{ type: 'text' }] } });
  expect(await stopped).toBe(0);
});

verifies('P6', 'heddle serve --stdio answers a client that has ended its input', async () => {
  const { heddle, folder } = project({ 'heddle.json': { mcpServers: { waiting } } });
  const go = join(folder, 'go');
  writeFileSync(go, '');
  const said = `${JSON.stringify(waitFor(go))}\n`;
  const { code, stdout } = await heddle(['serve', '--stdio'], { stdin: said });
  expect([code, JSON.parse(stdout.split('\n', 1)[0] ?? '')]).toMatchObject([0, { id: 1, result: { content: [{}] } }]);
});

verifies('F6', 'heddle serve --stdio ends soon after its client, even with calls in flight', async () => {
  const mark = `${process.pid}.abandoned`;
  const marked = { ...waiting, env: { HEDDLE_E2E: mark } };
  const { folder, env } = project({ 'heddle.json': { mcpServers: { waiting: marked } } });
  const { params, ...call } = waitFor(join(folder, 'never'));
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const said = JSON.stringify({ ...call, params: { ...params, _meta } });
  const program = `const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, [${JSON.stringify(BIN)}, 'serve', '--stdio', '--trust-project']);
    child.stdin.write(${JSON.stringify(said)} + '\\n');
    child.stdout.resume();
    child.stderr.resume();`;
  const client = spawn(process.execPath, ['-e', program], { cwd: folder, env });
  onTestFinished(() => void client.kill('SIGKILL'));
  const carriers = () => carriersOf(`HEDDLE_E2E=${mark}`).length;
  await until('the server has been started', () => carriers() > 0);
  client.kill('SIGKILL');
  await until('no process is left', () => carriers() === 0);
});

describe.each(SDK_CLIENTS)('heddle serve --stdio, started by %s', (name, connect) => {
  verifies('P1', 'lists, calls, and ends with all its processes when its client ends', async () => {
    const mark = `${process.pid}.${name.replace(/\W/g, '-')}`;
    const { folder, env } = project({ 'heddle.json': { mcpServers: { odd: { ...odd, env: { HEDDLE_E2E: mark } } } } });
    const start = { command: process.execPath, args: [BIN, 'serve', '--stdio', '--trust-project'], cwd: folder };
    const client = await connect({ ...start, env: { ...env, HEDDLE_E2E: mark } });
    onTestFinished(() => client.close());
    const names = (await client.list()).map((tool) => tool.name);
    expect(names).toEqual(expect.arrayContaining(['mcp__odd__echo', 'mcp__filesystem__fs_read_file']));
    expect(await client.call('mcp__odd__plain', { message: 'hello' })).toMatchObject({
      content: [{ type: 'text', text: 'hello' }],
    });
    expect(carriersOf(`HEDDLE_E2E=${mark}`).length).toBeGreaterThanOrEqual(2);
    await client.close();
    await until('no process is left', () => carriersOf(`HEDDLE_E2E=${mark}`).length === 0);
  });
});
