import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { openConnections } from './connections.ts';
import type { ConnectionOptions, Database, OpenDatabase } from './database.ts';
import { DatabaseFailure } from './database-failure.ts';

const connection = (name: string, more: Partial<ConnectionOptions> = {}): ConnectionOptions => ({
  name,
  type: 'sqlite',
  database: `/${name}.db`,
  access: 'read',
  allowDdl: false,
  allowPrivilegedRole: false,
  allowFunctions: [],
  ...more,
});

/** Records what is opened and closed. An opening ends when the test says so. */
function recorder() {
  const log: string[] = [];
  const openings: { resolve: (database: Database) => void; reject: (error: Error) => void; signal: AbortSignal }[] = [];
  const open: OpenDatabase = ({ name, database }, signal) => {
    log.push(`open ${name} ${database}`);
    const { promise, resolve, reject } = Promise.withResolvers<Database>();
    signal.addEventListener('abort', () => reject(new DatabaseFailure('CANCELLED', 'aborted')));
    openings.push({ resolve, reject, signal });
    return promise;
  };
  const database = (name: string) =>
    ({ warnings: [], close: async () => void log.push(`close ${name}`) }) as unknown as Database;
  return { log, openings, open, database };
}

const never = () => () => {};
const calm = { signal: new AbortController().signal, timeoutMs: 1000 };

verifies('B2', 'opens a database once for 100 calls at the same time, and not before the first', async () => {
  const { log, openings, open, database } = recorder();
  const connections = openConnections({ list: () => [connection('a'), connection('b')], open, timer: never });
  expect(log).toEqual([]);
  const calls = Array.from({ length: 100 }, () => connections.use('a', calm, async (one) => one));
  const opened = database('a');
  openings[0]?.resolve(opened);
  expect(new Set(await Promise.all(calls))).toEqual(new Set([opened]));
  expect(log).toEqual(['open a /a.db']);
  await connections.close();
  expect(log).toEqual(['open a /a.db', 'close a']);
});

verifies('B2', 'tries a database that could not be opened again with the next call, and the others work', async () => {
  const { log, openings, open, database } = recorder();
  const connections = openConnections({ list: () => [connection('a'), connection('b')], open, timer: never });
  const failing = [1, 2].map(() => connections.use('a', calm, async () => 'used'));
  openings[0]?.reject(new DatabaseFailure('CONNECTION_FAILED', 'refused'));
  for (const one of failing) await expect(one).rejects.toMatchObject({ code: 'CONNECTION_FAILED' });
  const working = connections.use('b', calm, async () => 'b');
  openings[1]?.resolve(database('b'));
  expect(await working).toBe('b');
  const again = connections.use('a', calm, async () => 'used');
  openings[2]?.resolve(database('a'));
  expect(await again).toBe('used');
  expect(log).toEqual(['open a /a.db', 'open b /b.db', 'open a /a.db']);
});

verifies('C13', 'closes only a changed or removed database, after its calls', async () => {
  const { log, openings, open, database } = recorder();
  let list = [connection('a'), connection('b'), connection('c')];
  const connections = openConnections({ list: () => list, open, timer: never });
  const gates = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, Promise.withResolvers<void>()]));
  const calls = ['a', 'b', 'c'].map((name) =>
    connections.use(name, calm, () => gates[name]?.promise ?? Promise.resolve()),
  );
  for (const [at, name] of ['a', 'b', 'c'].entries()) openings[at]?.resolve(database(name));
  gates.c?.resolve();
  await calls[2];
  list = [connection('a'), connection('b', { password: 'other' })];
  connections.update();
  await until('c is closed', () => log.includes('close c'));
  const changed = connections.use('b', calm, async () => 'new');
  openings[3]?.resolve(database('new b'));
  expect(await changed).toBe('new');
  expect(log).not.toContain('close b');
  gates.b?.resolve();
  await calls[1];
  await until('b is closed', () => log.includes('close b'));
  expect(log).not.toContain('close a');
  gates.a?.resolve();
  await connections.close();
  expect(log.filter((line) => line.startsWith('close')).toSorted()).toEqual([
    'close a',
    'close b',
    'close c',
    'close new b',
  ]);
});

verifies('T6', 'cancels one call without the others, and the opening when all have left', async () => {
  const { log, openings, open, database } = recorder();
  const connections = openConnections({ list: () => [connection('a')], open, timer: never });
  const [first, second] = [new AbortController(), new AbortController()];
  const calls = [first, second].map(({ signal }) => connections.use('a', { ...calm, signal }, async () => 'used'));
  first.abort();
  await expect(calls[0]).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(openings[0]?.signal.aborted).toBe(false);
  second.abort();
  await expect(calls[1]).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(openings[0]?.signal.aborted).toBe(true);
  const again = connections.use('a', calm, async () => 'used');
  openings[1]?.resolve(database('a'));
  expect(await again).toBe('used');
  expect(log).toEqual(['open a /a.db', 'open a /a.db']);
});

verifies('B2', 'ends a call whose database does not open in time', async () => {
  const { open } = recorder();
  const timers: (() => void)[] = [];
  const timer = (_ms: number, callback: () => void) => {
    timers.push(callback);
    return () => {};
  };
  const connections = openConnections({ list: () => [connection('a')], open, timer });
  const call = connections.use('a', calm, async () => 'used');
  timers[0]?.();
  await expect(call).rejects.toMatchObject({
    code: 'TIMED_OUT',
    message: expect.stringContaining('Nothing was sent.'),
  });
});

verifies('B2', 'names the existing connections, those like the unknown one first', async () => {
  const { open } = recorder();
  const list = () => ['archive', 'shop', 'shop-test'].map((name) => connection(name));
  const connections = openConnections({ list, open });
  await expect(connections.use('shpo', calm, async () => 'used')).rejects.toMatchObject({
    code: 'NAME_UNKNOWN',
    message: 'There is no connection "shpo" here. Choose one of: shop, archive, shop-test.',
  });
});
