import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished } from 'vitest';
import type { Caller, JsonObject } from '../../../src/core/call.ts';
import { text } from '../../../src/index.ts';
import { SERVERS } from '../../e2e/heddle-command.ts';
import { verifies } from '../../requirements.ts';
import { temporaryFolder, temporaryHeddle, temporaryHeddleClient } from '../../temporary-heddle.ts';
import { until } from '../../until.ts';

/** Opens a Heddle with two SQLite databases: `shop` can only be read, `log` also be written. */
async function opened(config: JsonObject = {}) {
  const folder = await temporaryFolder();
  for (const name of ['shop', 'log']) {
    const database = new DatabaseSync(join(folder, `${name}.db`));
    database.exec(
      "CREATE TABLE orders (id INTEGER PRIMARY KEY, label TEXT); INSERT INTO orders VALUES (1, 'one'), (2, 'two')",
    );
    database.close();
  }
  const connections = [
    { name: 'shop', type: 'sqlite', database: join(folder, 'shop.db') },
    { name: 'log', type: 'sqlite', database: join(folder, 'log.db'), access: 'readwrite' },
  ];
  const settings = { approvals: { keepOpenMs: 0 }, builtins: { database: { connections } }, ...config };
  const heddle = await temporaryHeddleClient({ folder, config: settings, watch: true });
  const call = async (name: string, input: JsonObject) => text((await heddle.call(`database.${name}`, input)).value);
  return { folder, heddle, call };
}

const OWNER: Caller = { id: 'user:local', roles: ['owner'], via: 'cli' };
const UPDATE = { sql: 'UPDATE orders SET label = ? WHERE id = ?', params: ['uno', 1] };
const labels = { connection: 'log', sql: 'SELECT label FROM orders ORDER BY id' };

verifies('B2', 'in mode strict as in open the read tools run, and db_execute waits for an approver', async () => {
  for (const mode of ['strict', 'open']) {
    const { heddle, call } = await opened({ mode: mode });
    expect(await call('db_query', { connection: 'shop', sql: 'SELECT * FROM orders' })).toContain('"rowCount":2');
    expect(await call('db_list_tables', { connection: 'shop' })).toContain('"table_name":"orders"');
    expect(await call('db_describe_table', { connection: 'log', tableName: 'orders' })).toContain(
      '"column_name":"label"',
    );
    expect(await call('db_explain', { connection: 'shop', sql: 'SELECT * FROM orders' })).toContain('SCAN');
    await expect(call('db_execute', UPDATE)).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
    expect(await call('db_query', labels)).toContain('[{"label":"one"},{"label":"two"}]');
    const [pending] = await heddle.approvals.list();
    expect(pending).toMatchObject({ subject: { name: 'mcp__database__db_execute', riskLevel: 'high' } });
    expect(JSON.stringify(pending)).toContain(UPDATE.sql);
    await heddle.approvals.approve(pending?.id ?? '');
    expect(await call('db_execute', UPDATE)).toContain('"affectedRows":1');
    expect(await call('db_query', labels)).toContain('[{"label":"uno"},{"label":"two"}]');
  }
});

verifies('C8', 'an entry named database replaces the built-in server and gets none of its privileges', async () => {
  const entry = { command: process.execPath, args: [join(SERVERS, 'impostor-database.mjs')] };
  const { heddle, call } = await opened({ mode: 'strict', mcpServers: { database: entry } });
  await expect(call('db_query', {})).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
  expect(await heddle.tools({ server: 'database' })).toHaveLength(2);
  const openMode = await opened({ mode: 'open', mcpServers: { database: entry } });
  // Neither an approval each time nor an unknown outcome: both are of the built-in object only.
  expect(await openMode.call('db_execute', {})).toBe('done');
  expect(await openMode.call('db_query', {})).toBe('unknown');
});

verifies(
  'B2',
  'a database that cannot be opened fails alone, and doctor names the reason without its path',
  async () => {
    const folder = await temporaryFolder();
    new DatabaseSync(join(folder, 'good.db')).exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)');
    const connections = [
      { name: 'good', type: 'sqlite', database: 'good.db' },
      { name: 'gone', type: 'sqlite', database: 'secret-folder/gone.db' },
      { name: 'down', type: 'postgres', url: 'postgres://secret-user:secret-password@127.0.0.1:1/secret-name' },
    ];
    const config = { builtins: { database: { connections } } };
    const heddle = await temporaryHeddleClient({ folder, config });
    const call = async (connection: string) =>
      (await heddle.call('database.db_query', { connection, sql: 'SELECT x FROM t' })).value;
    expect(await call('good')).toMatchObject({ structuredContent: { rows: [{ x: 1 }] } });
    for (const name of ['gone', 'down']) {
      const failed = await call(name);
      expect(failed).toMatchObject({ isError: true, _meta: { 'dev.heddle/code': 'CONNECTION_FAILED' } });
      expect(JSON.stringify(failed)).toContain(name);
      expect(JSON.stringify(failed)).not.toMatch(/secret|127\.0\.0\.1/);
    }
    const front = await temporaryHeddle({ folder, config });
    const all = await front.doctor(OWNER, undefined, new AbortController().signal);
    const findings = all.filter(({ subject }) => subject.startsWith('database '));
    expect(findings).toMatchObject([
      { level: 'ok', subject: 'database good', message: 'sqlite, read only' },
      { level: 'error', subject: 'database gone' },
      { level: 'error', subject: 'database down' },
    ]);
    expect(JSON.stringify(findings)).not.toMatch(/secret|127\.0\.0\.1/);
    mkdirSync(join(folder, 'secret-folder'));
    renameSync(join(folder, 'good.db'), join(folder, 'secret-folder/gone.db'));
    expect(await call('gone')).toMatchObject({ structuredContent: { rows: [{ x: 1 }] } });
  },
);

verifies('C13', 'a change of the configuration closes only changed databases, and calls in flight finish', async () => {
  const { folder, heddle, call } = await opened();
  const file = join(folder, 'heddle.json');
  const before = JSON.parse(readFileSync(file, 'utf8'));
  const [shop, log] = before.builtins.database.connections;
  const count = 'SELECT count(*) AS n FROM orders';
  const locking = new DatabaseSync(join(folder, 'log.db'));
  locking.exec("BEGIN EXCLUSIVE; INSERT INTO orders VALUES (3, 'three')");
  const inFlight = call('db_query', { connection: 'log', sql: count });
  expect(await call('db_query', { connection: 'shop', sql: count })).toContain('[{"n":2}]');
  const connections = [{ ...shop, database: log.database }];
  writeFileSync(file, JSON.stringify({ ...before, builtins: { database: { connections } } }));
  await until('db_execute is gone', async () => (await heddle.tools({ server: 'database' })).length === 4);
  locking.exec('COMMIT');
  expect(await inFlight).toContain('[{"n":3}]');
  expect(await call('db_query', { sql: count })).toContain('[{"n":3}]');
  locking.close();
});

verifies('B2', 'opens no database before a call of a database tool', async () => {
  let connected = 0;
  const listener = createServer((socket) => {
    connected++;
    socket.destroy();
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void listener.close());
  const url = `postgres://reader@127.0.0.1:${(listener.address() as AddressInfo).port}/shop`;
  const connections = [{ name: 'shop', type: 'postgres', url }];
  const heddle = await temporaryHeddleClient({ config: { builtins: { database: { connections } } } });
  expect(await heddle.tools({ server: 'database' })).toHaveLength(4);
  await heddle.call('filesystem.fs_list_directory', {});
  expect(connected).toBe(0);
  const { value } = await heddle.call('database.db_list_tables', {});
  expect(value).toMatchObject({ isError: true, _meta: { 'dev.heddle/code': 'CONNECTION_FAILED' } });
  expect(connected).toBeGreaterThan(0);
});
