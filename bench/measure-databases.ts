import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import type { ConnectionOptions, OpenDatabase, StatementOptions } from '../src/builtin/database/database.ts';
import { openMysql } from '../src/builtin/database/mysql/open-mysql.ts';
import { openPostgresDatabase } from '../src/builtin/database/postgres/open-postgres-database.ts';
import { openSqliteDatabase } from '../src/builtin/database/sqlite/open-sqlite-database.ts';
import { openWatchdog } from '../src/process/watchdog.ts';
import { type BuiltinResult, measureInTurn } from './measure-in-turn.ts';

/** A database with its bare driver, which runs a statement in a read-only transaction. */
interface Measured {
  readonly type: ConnectionOptions['type'];
  readonly address: Pick<ConnectionOptions, 'url' | 'database'>;
  readonly open: OpenDatabase;
  readonly bare: (sql: string) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

const MANY = 1000;
const JOBS = [
  { rows: 1, times: 300 },
  { rows: MANY, times: 50 },
];
/** A table of numbers by its CREATE and INSERT, which all three databases read. */
const CREATE = 'CREATE TABLE heddle_bench (id INTEGER PRIMARY KEY, name VARCHAR(40), price DOUBLE PRECISION)';
const INSERT = `INSERT INTO heddle_bench VALUES ${Array.from({ length: MANY }, (_, id) => `(${id + 1}, 'item ${id}', ${id / 4})`).join()}`;

/** Measures SQLite, and Postgres and MariaDB if their URLs are in HEDDLE_TEST_POSTGRES and HEDDLE_TEST_MARIADB. */
export async function measureDatabases(folder: string, reps: number): Promise<readonly BuiltinResult[]> {
  const { HEDDLE_TEST_POSTGRES: postgres, HEDDLE_TEST_MARIADB: mariadb } = process.env;
  const results: BuiltinResult[] = [];
  const databases = [
    () => sqlite(folder),
    postgres && (() => openPostgres(postgres)),
    mariadb && (() => mysql(mariadb)),
  ];
  for (const prepare of databases) if (prepare) results.push(...(await measure(await prepare(), reps)));
  return results;
}

async function measure(
  { type, address, open, bare, close }: Measured,
  reps: number,
): Promise<readonly BuiltinResult[]> {
  const { signal } = new AbortController();
  const connection: ConnectionOptions = {
    ...{ name: 'bench', type, ...address, access: 'read', allowDdl: false },
    ...{ allowPrivilegedRole: true, allowFunctions: [] }, // The test servers sign in as their administrators.
  };
  const database = await open(connection, signal);
  const options: StatementOptions = { maxRows: MANY, maxBytes: 5 * 1024 * 1024, timeoutMs: 30_000, signal };
  try {
    const results: BuiltinResult[] = [];
    for (const { rows, times } of JOBS) {
      const sql = `SELECT id, name, price FROM heddle_bench WHERE id <= ${rows}`;
      const candidates = [
        { name: 'bare driver', run: () => bare(sql) },
        { name: 'heddle', run: () => database.query({ sql, params: [] }, options) },
      ];
      results.push(...(await measureInTurn({ job: `${type}, ${rows} rows`, times, reps, inFlight: 1, candidates })));
    }
    return results;
  } finally {
    await database.close();
    await close();
  }
}

async function sqlite(folder: string): Promise<Measured> {
  const file = join(folder, 'bench.db');
  const writer = new DatabaseSync(file);
  writer.exec(`${CREATE}; ${INSERT}`);
  writer.close();
  const driver = new DatabaseSync(file, { readOnly: true });
  const watchdog = openWatchdog();
  return {
    type: 'sqlite',
    address: { database: file },
    open: (connection, signal) => openSqliteDatabase(connection, signal, { watchdog }),
    async bare(sql) {
      driver.exec('BEGIN');
      driver.prepare(sql).all();
      driver.exec('ROLLBACK');
    },
    async close() {
      driver.close();
      watchdog.close();
    },
  };
}

async function openPostgres(url: string): Promise<Measured> {
  const driver = new pg.Client({ connectionString: url });
  await driver.connect();
  await driver.query(`DROP TABLE IF EXISTS heddle_bench; ${CREATE}; ${INSERT}`);
  return {
    type: 'postgres',
    address: { url },
    open: openPostgresDatabase,
    async bare(sql) {
      await driver.query('BEGIN TRANSACTION READ ONLY');
      await driver.query(sql);
      await driver.query('ROLLBACK');
    },
    async close() {
      await driver.query('DROP TABLE heddle_bench');
      await driver.end();
    },
  };
}

async function mysql(url: string): Promise<Measured> {
  const driver = await createConnection({ uri: url });
  await driver.query('CREATE DATABASE IF NOT EXISTS heddle_bench');
  await driver.query('USE heddle_bench');
  await driver.query('DROP TABLE IF EXISTS heddle_bench');
  await driver.query(CREATE);
  await driver.query(INSERT);
  const address = new URL(url);
  address.pathname = 'heddle_bench';
  return {
    type: 'mysql',
    address: { url: address.href },
    open: openMysql,
    async bare(sql) {
      await driver.query('START TRANSACTION READ ONLY');
      await driver.query(sql);
      await driver.query('ROLLBACK');
    },
    async close() {
      await driver.query('DROP DATABASE heddle_bench');
      await driver.end();
    },
  };
}
