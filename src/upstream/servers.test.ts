import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { carriersOf } from '../../test/alive.ts';
import { within } from '../../test/limits.ts';
import { verifies } from '../../test/requirements.ts';
import { oldSessionServer } from '../../test/servers/http-servers.ts';
import { until } from '../../test/until.ts';
import type { JsonObject } from '../core/call.ts';
import { openWatchdog } from '../process/watchdog.ts';
import type { CachedServer } from '../store/server-book.ts';
import type { ListKind } from './connection.ts';
import { checkServer } from './doctor/check-server.ts';
import { suspendedCalls } from './elicitation/suspended-calls.ts';
import { entryOf, memoryBook, toolCall } from './fixtures.ts';
import { planServer } from './lifecycle/plan-server.ts';
import { openServerCache } from './lifecycle/server-cache.ts';
import { openServers } from './servers.ts';
import type { Serve } from './transports/connect-in-memory.ts';
import { httpPool } from './transports/http-pool.ts';

const SERVER = fileURLToPath(new URL('../../test/servers/odd-stdio-server.mjs', import.meta.url));
const signal = new AbortController().signal;
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Setting {
  readonly saved?: readonly CachedServer[];
  readonly inProcess?: ReadonlyMap<string, Serve>;
  readonly localConcurrency?: number;
  readonly scope?: 'project' | 'builtin';
}

/** Opens real servers from their entries. Closes them after the test. */
async function open(entries: Readonly<Record<string, JsonObject>>, setting: Setting = {}) {
  const { saved = [], inProcess = new Map(), localConcurrency = 3, scope = 'project' } = setting;
  const [watchdog, pool, book] = [openWatchdog(), httpPool(), memoryBook()];
  const env = { PATH: process.env.PATH };
  const plans = Object.entries(entries).map(([name, written]) =>
    planServer({ name, scope, entry: entryOf(written), shadowed: [] }, { watchdog, pool, env, inProcess }),
  );
  const listed: string[] = [];
  const onList = (server: string, kind: ListKind, items: readonly JsonObject[]) => {
    if (kind === 'tools') listed.push(`${server}: ${items.length}`);
  };
  const limits = { localConcurrency, remoteConcurrency: 20 };
  const quiet = { onStatus: () => {}, onNotification: () => {} };
  const servers = openServers({
    plans,
    suspendedCalls: suspendedCalls(),
    cache: openServerCache({ saved, book }),
    ...limits,
    ...quiet,
    onList,
  });
  closers.push(
    () => watchdog.close(),
    () => pool.close(),
    () => servers.close(),
  );
  return {
    servers,
    book,
    listed,
    states: () => Object.fromEntries(servers.status().map(({ name, state }) => [name, state])),
  };
}

async function startLog() {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-'));
  closers.push(() => rm(folder, { recursive: true }));
  const log = join(folder, 'starts');
  const odd = (...ways: string[]) => ({ command: process.execPath, args: [SERVER, ...ways], env: { START_LOG: log } });
  const pids = async () => (await readFile(log, 'utf8').catch(() => '')).split('\n').filter(Boolean).map(Number);
  return { log, odd, pids };
}

verifies('T3', 'starts a server at its first use, and once for 20 concurrent connects', async () => {
  const { odd, pids } = await startLog();
  const { servers, listed, states } = await open({ one: odd(), other: odd() });
  expect(states()).toEqual({ one: 'pending', other: 'pending' });
  servers.start();
  expect(await pids()).toEqual([]);
  const connections = await Promise.all(Array.from({ length: 20 }, () => servers.connect('one', signal)));
  expect(new Set(connections).size).toBe(1);
  expect(servers.connected('one')).toBe(connections[0]);
  expect(servers.connected('other')).toBeUndefined();
  expect([await pids(), listed, states()]).toMatchObject([
    { length: 1 },
    ['one: 5'],
    { one: 'connected', other: 'pending' },
  ]);
});

verifies('T3', 'starts the servers with autoConnect by itself', async () => {
  const { odd, pids } = await startLog();
  const { servers, states } = await open({ eager: { ...odd(), autoConnect: true }, lazy: odd() });
  servers.start();
  await until('the eager server is connected', () => states().eager === 'connected');
  expect(states().lazy).toBe('pending');
  expect(await pids()).toHaveLength(1);
});

verifies('T3', 'connects a server although others fail or hang', async () => {
  const { odd } = await startLog();
  const broken = { gone: { command: 'no-such-program' }, dies: odd('dies'), listless: odd('listless') };
  const hung = { silent1: odd('silent'), silent2: odd('silent'), silent3: odd('silent') };
  const { servers, states } = await open({ ...broken, ...hung, good: odd() });
  const all = Object.keys(states()).filter((name) => name !== 'good');
  for (const name of all) servers.connect(name, signal).catch(() => {});
  const connection = await within(5000, () => servers.connect('good', signal));
  await expect(connection.send(toolCall('echo'))).resolves.toMatchObject({ isError: false });
  await until('the broken ones have failed', () => states().gone === 'failed' && states().dies === 'failed');
  expect(states()).toMatchObject({ gone: 'failed', dies: 'failed', silent1: 'pending', good: 'connected' });
});

verifies('T2', 'knows no server that is not configured', async () => {
  const { servers } = await open({});
  const unknown = { code: 'NAME_UNKNOWN', message: 'No server is named x.' };
  await expect(servers.connect('x', signal)).rejects.toMatchObject(unknown);
  await expect(checkServer({ servers }, 'x', signal)).rejects.toMatchObject(unknown);
  expect(servers.connected('x')).toBeUndefined();
});

verifies('T11', 'remembers era and tools of a local and of a remote server, and uses them the next time', async () => {
  const { odd } = await startLog();
  const { url, close } = await oldSessionServer();
  closers.push(close);
  const entries = { local: odd('modern'), remote: { url } };
  const first = await open(entries);
  await Promise.all([first.servers.connect('local', signal), first.servers.connect('remote', signal)]);
  const { saved } = first.book;
  expect(saved.map(({ server, era, lists }) => [server, era, lists.tools.length]).sort()).toEqual([
    ['local', 'modern', 5],
    ['remote', 'legacy', 1],
  ]);
  const second = await open(entries, { saved });
  expect(second.servers.status().map(({ state, tools }) => [state, tools])).toEqual([
    ['pending', 5],
    ['pending', 1],
  ]);
  const changed = await open({ local: odd('noisy') }, { saved });
  expect(changed.servers.status()[0]?.tools).toBeUndefined();
});

verifies('T3', 'remembers the tools of a server that did not answer the probe', async () => {
  const { odd } = await startLog();
  const entries = { slow: odd('undiscoverable') };
  const first = await open(entries);
  await first.servers.connect('slow', signal);
  const { saved } = first.book;
  expect(saved.at(-1)).toMatchObject({ server: 'slow', era: 'legacy', lists: { tools: { length: 5 } } });
  const second = await open(entries, { saved });
  expect(second.servers.status()).toMatchObject([{ state: 'pending', tools: 5 }]);
});

verifies('T11', 'does not remember a built-in server', async () => {
  const { odd } = await startLog();
  const builtin = await open({ builtin: odd() }, { scope: 'builtin' });
  await builtin.servers.connect('builtin', signal);
  expect(builtin.book.saved).toEqual([]);
});

verifies(
  'T4',
  'leaves no process when it is closed while servers connect, and starts none of those that waited',
  async () => {
    const { odd, pids, log } = await startLog();
    const entries = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, odd('silent', 'stubborn')]));
    const { servers } = await open(entries, { localConcurrency: 1 });
    const attempts = Object.keys(entries).map((name) => servers.connect(name, signal).catch(({ code }) => code));
    await until('the first has started', async () => (await pids()).length === 1);
    await servers.close();
    expect(await Promise.all(attempts)).toEqual(Array(4).fill('CALL_CANCELLED'));
    await until('no process is left', () => carriersOf(log).length === 0);
    expect(await pids()).toHaveLength(1);
  },
);

verifies(
  'F1',
  'opens a new connection for the next call after a server died, and keeps the other connections',
  async () => {
    const { odd, pids } = await startLog();
    const { servers, states } = await open({ one: odd(), other: odd() });
    const [first, other] = await Promise.all([servers.connect('one', signal), servers.connect('other', signal)]);
    await expect(first.send(toolCall('exit'))).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
    await until('the exit is noticed', () => states().one === 'pending');
    await expect((await servers.connect('one', signal)).send(toolCall('echo'))).resolves.toMatchObject({
      isError: false,
    });
    await expect(other.send(toolCall('echo'))).resolves.toMatchObject({ isError: false });
    expect(await pids()).toHaveLength(3);
  },
);

it('checks a server: the agreed protocol, or the reason of the failure and a fix', async () => {
  const { odd } = await startLog();
  const { servers } = await open({ good: odd(), dies: odd('dies'), off: { ...odd(), enabled: false } });
  await expect(checkServer({ servers }, 'good', signal)).resolves.toMatchObject({
    level: 'ok',
    message: expect.stringMatching(/^connected in \d+ ms over \S+, protocol 2025-11-25 \(legacy\), 5 tools$/),
  });
  await expect(checkServer({ servers }, 'dies', signal)).resolves.toMatchObject({
    level: 'error',
    message: expect.stringMatching(/^failed: dies ended before it was ready: .*license file$/),
    fix: 'Correct what its stderr names, in `command`, `args` or `env` of dies.',
  });
  await expect(checkServer({ servers }, 'off', signal)).resolves.toMatchObject({ level: 'ok', message: 'disabled' });
});
