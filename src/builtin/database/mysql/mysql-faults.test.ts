import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type Cut, startCuttingProxy } from '../../../../test/builtin/database/cutting-proxy.ts';
import { MEASURES, within } from '../../../../test/limits.ts';
import { verifies } from '../../../../test/requirements.ts';
import { until } from '../../../../test/until.ts';
import type { Database } from '../database.ts';
import type { DatabaseFailure } from '../database-failure.ts';
import { type MysqlBench, mysqlBench, runOptions, testMariadb } from './fixtures.ts';

const ENDLESS = 'SELECT COUNT(*) FROM seq_1_to_100000000 a, seq_1_to_100000000 b';
const CUTS = MEASURES ? 1000 : 100;

interface OwnServer {
  readonly url: string;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

describe.skipIf(!testMariadb)('a MariaDB connection under faults', () => {
  let bench: MysqlBench;
  let database: Database;

  beforeAll(async () => {
    bench = await mysqlBench();
    await bench.run(
      'CREATE TABLE counters (id INT PRIMARY KEY, n INT) ENGINE = InnoDB; INSERT INTO counters VALUES (1, 0)',
    );
    database = await bench.open('reader');
  });
  afterAll(() => bench.remove());

  const query = (sql: string, changes: Parameters<typeof runOptions>[0] = {}) =>
    database.query({ sql, params: [] }, runOptions(changes));
  const processes = (suffix = '') =>
    bench.run('SELECT ID AS id FROM information_schema.PROCESSLIST WHERE USER = ? AND (? = "" OR INFO LIKE ?)', [
      `${bench.schema}_r`,
      suffix,
      `%${suffix}%`,
    ]);
  /** Kills connections. One that has ended by itself has no id any more. */
  const killAll = async (text = '') => {
    for (const { id } of await processes(text)) await bench.run(`KILL ${id}`).catch(() => {});
  };
  const running = async (count: number) => (await processes('seq_1_to_100000000')).length === count;
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'OK',
      (error: DatabaseFailure) => error.code,
    );

  verifies('B2', 'ends a slow query at its timeout and at a cancellation, at the server too', async () => {
    await within(700, async () => expect(await codeOf(query(ENDLESS, { timeoutMs: 200 }))).toBe('TIMED_OUT'));
    const cancel = new AbortController();
    const call = codeOf(query(ENDLESS, { signal: cancel.signal }));
    await until('the query runs', () => running(1));
    cancel.abort();
    await within(500, async () => expect(await call).toBe('CANCELLED'));
    await until('no query runs', () => running(0));
    expect(await codeOf(query(ENDLESS, { signal: AbortSignal.abort() }))).toBe('CANCELLED');
    expect((await query('SELECT 1')).rows).toEqual([[1]]);
  });

  verifies('B2', 'reports a killed connection, and replaces it without an error when it was idle', async () => {
    const call = codeOf(query(ENDLESS));
    await until('the query runs', () => running(1));
    await killAll('seq_1_to_100000000');
    expect(await call).toBe('CONNECTION_FAILED');
    expect((await query('SELECT 1')).rows).toEqual([[1]]);
    // A connection is given back a moment after its answer: some rounds kill it before, most after.
    for (let round = 0; round < 10; round++) {
      await processes();
      await killAll();
      await until('all connections are gone', async () => (await processes()).length === 0);
      expect((await query('SELECT 2')).rows).toEqual([[2]]);
    }
  });

  verifies('B2', 'waits for a free connection no longer than its timeout', async () => {
    const cancel = new AbortController();
    const calls = Array.from({ length: 5 }, () => codeOf(query(ENDLESS, { signal: cancel.signal })));
    await until('five queries run', () => running(5));
    expect(await codeOf(query('SELECT 1', { timeoutMs: 100 }))).toBe('TIMED_OUT');
    const waiting = query('SELECT 7');
    cancel.abort();
    expect(await Promise.all(calls)).toEqual(calls.map(() => 'CANCELLED'));
    expect((await waiting).rows).toEqual([[7]]);
    await until('no query runs', () => running(0));
  });

  verifies('B2', 'answers 100 queries with a code while connections are killed, then works again', async () => {
    const calls = Array.from({ length: 100 }, (_, at) => codeOf(query(`SELECT ${at}, COUNT(*) FROM seq_1_to_100000`)));
    for (let round = 0; round < 10; round++) await killAll();
    const codes = new Set(await Promise.all(calls));
    expect([...codes].filter((code) => code !== 'OK' && code !== 'CONNECTION_FAILED')).toEqual([]);
    expect((await query('SELECT 1')).rows).toEqual([[1]]);
  });

  verifies('B2', 'closes idle connections at once, busy ones after their query', async () => {
    const closing = await bench.open('reader');
    await bench.run('LOCK TABLES counters WRITE');
    const call = closing.query({ sql: 'SELECT COUNT(*) FROM counters', params: [] }, runOptions());
    await until('the query waits', async () => (await processes('FROM counters')).length > 0);
    const closed = closing.close();
    await bench.run('UNLOCK TABLES');
    expect((await call).rows).toEqual([[1]]);
    await closed;
    expect(await codeOf(closing.query({ sql: 'SELECT 1', params: [] }, runOptions()))).toBe('CANCELLED');
  });

  verifies('B2', `adds one for each success and none for each known error over ${CUTS} cuts`, async () => {
    const { port } = new URL(bench.url('writer'));
    const proxy = await startCuttingProxy(Number(port));
    const url = bench.url('writer').replace(`:${port}/`, `:${proxy.port}/`);
    const writer = await bench.open('writer', { url, access: 'readwrite' });
    const outcomes = new Map<string, number>();
    // The row lock of a change that the server still runs makes this wait.
    const count = async () => {
      const [row] = await bench.run('SELECT n FROM counters WHERE id = 1 FOR UPDATE');
      return Number(row?.n);
    };
    try {
      let before = await count();
      for (let round = 0; round < CUTS; round++) {
        proxy.arm(cutOf(round));
        const code = await codeOf(
          writer.execute({ sql: 'UPDATE counters SET n = n + 1 WHERE id = 1', params: [] }, runOptions()),
        );
        proxy.disarm();
        const added = (await count()) - before;
        before += added;
        outcomes.set(code, (outcomes.get(code) ?? 0) + 1);
        const allowed = code === 'OK' ? [1] : code === 'OUTCOME_UNKNOWN' ? [0, 1] : [0];
        expect(allowed, `round ${round}: ${code} added ${added}`).toContain(added);
      }
    } finally {
      await proxy.close();
    }
    expect([...outcomes.keys()].sort()).toEqual(['CONNECTION_FAILED', 'OK', 'OUTCOME_UNKNOWN']);
  });

  /** Half of the cuts are around COMMIT, the others after any number of chunks. */
  function cutOf(round: number): Cut {
    const at = (['before', 'after', 'answer'] as const)[Math.floor(round / 2) % 3] ?? 'after';
    return round % 2 === 0 ? { text: 'COMMIT', at } : { afterChunks: Math.floor(Math.random() * 24) };
  }

  verifies('B2', 'works again after a restart of the server', async () => {
    if (!MEASURES) return; // A server of its own takes seconds to start.
    const { startMariadb } = (await import(new URL('../../../../tools/mariadb.mjs', import.meta.url).href)) as {
      startMariadb(): Promise<OwnServer>;
    };
    const server = await startMariadb();
    const own = await mysqlBench(server.url);
    try {
      const reader = await own.open('reader');
      const calls = Array.from({ length: 100 }, () =>
        codeOf(reader.query({ sql: 'SELECT COUNT(*) FROM seq_1_to_1000000', params: [] }, runOptions())),
      );
      await server.restart();
      const codes = new Set(await Promise.all(calls));
      expect([...codes].filter((code) => code !== 'OK' && code !== 'CONNECTION_FAILED')).toEqual([]);
      expect((await reader.query({ sql: 'SELECT 1', params: [] }, runOptions())).rows).toEqual([[1]]);
      await reader.close();
    } finally {
      await server.stop();
    }
  });
});
