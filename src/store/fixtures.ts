import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe } from 'vitest';
import type { AuditRecord } from './audit-log.ts';
import { openStore } from './open-store.ts';
import { migrateSqlite } from './sqlite/migrate-sqlite.ts';
import { sqliteStatements } from './sqlite/sqlite-statements.ts';
import type { SqlStatement, Statements } from './statements.ts';
import type { Store } from './store.ts';
import type { Span } from './trace-log.ts';

type Row = Record<string, unknown>;

/** An empty database, and a second connection that sees and does what our own interface does not. */
export interface FreshDatabase {
  readonly location: string;
  /** The place of the keys for credentials: no key file of a user, no keychain. */
  readonly keys: {
    readonly home: string;
    readonly env: Readonly<Record<string, string>>;
    keyring(): Promise<undefined>;
  };
  run(sql: string): Promise<readonly Row[]>;
  setVersion(version: number): Promise<unknown>;
  /** Takes the tables away again. */
  empty(): Promise<unknown>;
  remove(): Promise<void>;
}

export const testPostgres = process.env.HEDDLE_TEST_POSTGRES;

export const DIALECTS: readonly { readonly dialect: string; readonly fresh: () => Promise<FreshDatabase> }[] = [
  { dialect: 'sqlite', fresh: freshSqlite },
  { dialect: 'postgres', fresh: freshPostgres },
];

/** The database and the store of the test that runs. */
export interface Bench {
  database: FreshDatabase;
  store: Store;
}

/** Runs the same tests on every database, each on an empty one. */
export function onEveryDialect(contract: (bench: Bench) => void): void {
  describe.each(DIALECTS)('the store on $dialect', ({ dialect, fresh }) => {
    describe.skipIf(dialect === 'postgres' && !testPostgres)('keeps its contract:', () => {
      const bench = {} as Bench;

      beforeEach(async () => {
        bench.database = await fresh();
        bench.store = await openStore({
          location: bench.database.location,
          clock: () => 9_000,
          ...bench.database.keys,
        });
      });

      afterEach(async () => {
        await bench.store.close().catch(() => undefined);
        await bench.database.remove();
      });

      contract(bench);
    });
  });
}

export async function freshSqlite(): Promise<FreshDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-store-'));
  const location = join(folder, 'home', 'heddle.db');
  const run = async (sql: string) => {
    const db = new DatabaseSync(location);
    try {
      return db.prepare(sql).all();
    } finally {
      db.close();
    }
  };
  return {
    location,
    keys: { home: join(folder, 'home'), env: {}, keyring: async () => undefined },
    run,
    setVersion: (version) => run(`PRAGMA user_version = ${version}`),
    async empty() {
      rmSync(location);
    },
    async remove() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function freshPostgres(): Promise<FreshDatabase> {
  const { Client } = await import('pg');
  const name = `heddle_${crypto.randomUUID().replaceAll('-', '')}`;
  const url = new URL(testPostgres ?? '');
  url.pathname = `/${name}`;
  const once = async (connectionString: string | undefined, sql: string): Promise<readonly Row[]> => {
    const client = new Client({ connectionString, options: '-c search_path=heddle' });
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  const home = mkdtempSync(join(tmpdir(), 'heddle-store-'));
  await once(testPostgres, `CREATE DATABASE ${name}`);
  return {
    location: url.href,
    keys: { home, env: {}, keyring: async () => undefined },
    run: (sql) => once(url.href, sql),
    setVersion: (version) => once(url.href, `UPDATE schema_version SET version = ${version}`),
    empty: () => once(url.href, 'DROP SCHEMA heddle CASCADE'),
    async remove() {
      await once(testPostgres, `DROP DATABASE ${name} WITH (FORCE)`);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Runs queries on an empty SQLite database. Returns the plan of each statement that was read. */
export async function plansOf(query: (statements: Statements) => Promise<unknown>): Promise<readonly string[]> {
  const db = new DatabaseSync(':memory:');
  migrateSqlite(db, ':memory:');
  const statements = sqliteStatements(db, () => 0);
  const read: SqlStatement[] = [];
  await query({
    ...statements,
    read(statement) {
      read.push(statement);
      return statements.read(statement);
    },
  });
  const plans = read.map(({ sql, values }) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values)
      .map(({ detail }) => String(detail)),
  );
  db.close();
  return plans.flat();
}

export function recordOf(change: Partial<AuditRecord> = {}): AuditRecord {
  return {
    callId: 'call-1',
    phase: 'outcome',
    at: 1_000,
    caller: 'ada',
    via: 'cli',
    name: 'demo.echo',
    detail: { outcome: 'ok' },
    ...change,
  };
}

export function spanOf(change: Partial<Span> = {}): Span {
  return {
    traceId: 'trace-1',
    spanId: 'span-1',
    name: 'demo.echo',
    server: 'demo',
    startedAt: 1_000,
    durationMs: 2.5,
    outcome: 'ok',
    attributes: { caller: 'ada' },
    ...change,
  };
}
