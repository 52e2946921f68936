import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { startCuttingProxy } from '../../../../test/builtin/database/cutting-proxy.ts';
import { verifies } from '../../../../test/requirements.ts';
import { until } from '../../../../test/until.ts';
import type { Database } from '../database.ts';
import { type MysqlBench, mysqlBench, runOptions, testMariadb } from './fixtures.ts';
import { openMysql } from './open-mysql.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe.skipIf(!testMariadb)('the limits of a MariaDB connection', () => {
  let bench: MysqlBench;
  let database: Database;

  beforeAll(async () => {
    bench = await mysqlBench();
    await bench.run('CREATE TABLE notes (id INT PRIMARY KEY, body LONGTEXT) ENGINE = InnoDB');
    database = await bench.open('reader');
  });
  afterAll(() => bench.remove());

  const query = (sql: string, changes: Parameters<typeof runOptions>[0] = {}) =>
    database.query({ sql, params: [] }, runOptions(changes));

  verifies('B2', 'keeps no result after its call, although the connection stays open', async () => {
    const rows = await query('SELECT 1').then((result) => new WeakRef(result.rows));
    await until('the rows are freed', () => {
      collectGarbage();
      return rows.deref() === undefined;
    });
  });

  verifies('B2', 'says that a row is too large, and returns the rows before it', async () => {
    const tooLarge = {
      code: 'STATEMENT_FAILED',
      message: 'A row has more than 10000 bytes. Select fewer columns, or a part of the value.',
    };
    await expect(query("SELECT REPEAT('x', 20000)", { maxBytes: 10_000 })).rejects.toMatchObject(tooLarge);
    await expect(query("SELECT REPEAT('x', 15000000)", { maxBytes: 10_000 })).rejects.toMatchObject(tooLarge);
    const second = "SELECT 1, 'x' UNION ALL SELECT 2, REPEAT('x', 15000000)";
    expect(await query(second, { maxBytes: 10_000 })).toMatchObject({ rows: [[1, 'x']], truncated: true });
    expect((await query("SELECT REPEAT('x', 5000000)")).rows[0]?.[0]).toHaveLength(5_000_000);
  });

  verifies('B2', 'does not wait for the rest of a row that is too large', async () => {
    const proxy = await startCuttingProxy(Number(new URL(bench.url('reader')).port));
    const reader = await bench.open('reader', { url: throughProxy(proxy.port) });
    proxy.silenceAt(1_000_000);
    try {
      const read = reader.query({ sql: "SELECT REPEAT('x', 15000000)", params: [] }, runOptions({ maxBytes: 10_000 }));
      await expect(read).rejects.toMatchObject({ code: 'STATEMENT_FAILED' });
    } finally {
      await proxy.close();
    }
  });

  verifies('B2', 'rolls back a change whose row is too large to return', async () => {
    const writer = await bench.open('writer', { access: 'readwrite' });
    const sql = "INSERT INTO notes VALUES (1, REPEAT('x', 1000000)) RETURNING body";
    await expect(writer.execute({ sql, params: [] }, runOptions({ maxBytes: 10_000 }))).rejects.toMatchObject({
      code: 'STATEMENT_FAILED',
      message: expect.stringContaining('Nothing was changed'),
    });
    await until('the row is gone', async () => (await bench.run('SELECT id FROM notes')).length === 0);
  });

  const throughProxy = (port: number) => {
    const url = new URL(bench.url('reader'));
    url.port = String(port);
    return url.href;
  };

  verifies('B2', 'stops opening a server that goes silent after the sign-in, and closes its socket', async () => {
    const proxy = await startCuttingProxy(Number(new URL(bench.url('reader')).port));
    proxy.silenceAt('VERSION()');
    const connection = bench.connection('reader', { url: throughProxy(proxy.port) });
    try {
      const cancel = new AbortController();
      const cancelled = openMysql(connection, cancel.signal).catch((error) => error);
      await until('the server is silent', () => proxy.isSilent());
      cancel.abort();
      expect(await cancelled).toMatchObject({ code: 'CANCELLED' });
      await until('the socket is closed', () => proxy.open() === 0);
      let expire = () => {};
      const overdue = openMysql(connection, new AbortController().signal, (_delayMs, callback) => {
        expire = callback;
        return () => {};
      }).catch((error) => error);
      await until('the socket is open', () => proxy.open() === 1);
      expire();
      expect(await overdue).toMatchObject({
        code: 'CONNECTION_FAILED',
        message: 'The connection "shop" failed: the host does not answer. Check the network.',
      });
      await until('the socket is closed', () => proxy.open() === 0);
    } finally {
      await proxy.close();
    }
  });
});
