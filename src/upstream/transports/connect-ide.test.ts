import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { sseServer } from '../../../test/servers/sse-servers.ts';
import { wsServer } from '../../../test/servers/ws-servers.ts';
import type { RemoteEntry } from '../../config/schema/schema.ts';
import type { JsonObject } from '../../core/call.ts';
import { entryOf, toolCall } from '../fixtures.ts';
import { connectIde } from './connect-ide.ts';
import { httpPool } from './http-pool.ts';

const closers: (() => unknown)[] = [];
let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'heddle-home-'));
  mkdirSync(join(home, '.claude/ide'), { recursive: true });
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  rmSync(home, { recursive: true });
});

function announce(folder: string, url: string, more: object): void {
  const content = { pid: process.pid, workspaceFolders: [home], ideName: 'Editor', authToken: 't0ken', ...more };
  writeFileSync(join(folder, `${new URL(url).port}.lock`), JSON.stringify(content));
}

async function connect(entry: JsonObject) {
  const pool = httpPool({});
  closers.push(() => pool.close());
  const open = connectIde(entryOf<RemoteEntry>(entry), { pool, env: { HOME: home }, workspace: home });
  const capabilities = { form: false, url: false, sampling: false, samplingTools: false, roots: false };
  const { signal } = new AbortController();
  const connection = await open({
    server: 'ide',
    signal,
    known: 'legacy',
    capabilities,
    onNotification: () => {},
  });
  closers.push(() => connection.close());
  return connection;
}

verifies('T1', 'speaks to the IDE that its lockfile announces, with its token: ws-ide', async () => {
  const server = await wsServer();
  closers.push(() => server.close());
  announce(join(home, '.claude/ide'), server.url, { transport: 'ws' });
  const connection = await connect({ type: 'ws-ide', url: 'ws://127.0.0.1' });
  await expect(connection.send(toolCall('echo', { text: 'hi' }))).resolves.toMatchObject({ isError: false });
  expect(server.upgrades).toMatchObject([{ 'x-claude-code-ide-authorization': 't0ken' }]);
});

verifies('T1', 'speaks to the IDE that its lockfile announces, with its token: sse-ide', async () => {
  const server = await sseServer();
  closers.push(() => server.close());
  const lockFolder = join(home, 'elsewhere');
  mkdirSync(lockFolder);
  announce(lockFolder, server.url, { transport: 'sse' });
  const ide = { lockFolder: '~/elsewhere', tokenHeader: 'Authorization' };
  const connection = await connect({ type: 'sse-ide', url: 'http://localhost', ide });
  await expect(connection.send(toolCall('echo', { text: 'hi' }))).resolves.toMatchObject({ isError: false });
  expect(new Set(server.credentials)).toEqual(new Set(['t0ken']));
});

it.each([
  ['http://127.0.0.1', /^No running IDE has/],
  ['http://127.0.0.1:4001', /^No running IDE on port 4001 has/],
])('says where it has looked when no IDE has the folder open: %s', async (url, message) => {
  const failure = await connect({ type: 'sse-ide', url }).catch((thrown) => thrown);
  expect(failure).toMatchObject({
    code: 'UPSTREAM_UNREACHABLE',
    delivered: 'no',
    fix: expect.stringContaining('Open'),
  });
  expect(failure.message).toMatch(message);
  expect(failure.message).toContain(join(home, '.claude/ide'));
});

verifies('T1', 'finds no IDE below the home folder of an environment without HOME', async () => {
  const pool = httpPool({});
  closers.push(() => pool.close());
  const open = connectIde(entryOf<RemoteEntry>({ type: 'ws-ide', url: 'ws://127.0.0.1' }), {
    ...{ pool, env: {}, workspace: home },
  });
  const capabilities = { form: false, url: false, sampling: false, samplingTools: false, roots: false };
  const { signal } = new AbortController();
  const refused = open({ server: 'ide', signal, known: 'legacy', capabilities, onNotification: () => {} });
  await expect(refused).rejects.toMatchObject({
    code: 'UPSTREAM_UNREACHABLE',
    message: expect.stringContaining('according to an environment without HOME'),
  });
});
