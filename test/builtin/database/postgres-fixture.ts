import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import type { ConnectionOptions, StatementOptions } from '../../../src/builtin/database/database.ts';

export const testPostgresServer = process.env.HEDDLE_TEST_POSTGRES;

/** A database with roles of its own on the server of the tests. */
export interface PostgresFixture {
  /** Options of a connection of a role: `reader` has SELECT only, `writer` owns the tables, `admin` is a superuser. */
  connection(role: PostgresRole, change?: Partial<ConnectionOptions>): ConnectionOptions;
  /** Runs SQL as the superuser on a connection of its own. */
  readonly admin: Client;
  readonly name: string;
  remove(): Promise<void>;
}

export type PostgresRole = 'reader' | 'writer' | 'files' | 'admin';

const EXTENSIONS = ['dblink', 'tablefunc', 'pg_trgm', '"uuid-ossp"', 'pgcrypto', 'hstore', 'citext'];

const TABLES = `
  CREATE TABLE w (n int);
  INSERT INTO w VALUES (1), (2);
  CREATE SEQUENCE s;
  CREATE TABLE people (id int PRIMARY KEY, name text, amount numeric(10, 2), at timestamptz, doc jsonb, tags text[]);
  INSERT INTO people VALUES
    (1, 'ada', 1.50, '2026-01-02 03:04:05+00', '{"a": 1, "b": [1, 2]}', '{x,y}'),
    (2, 'alan', 22.25, '2026-02-03 04:05:06+00', '{"a": 2, "b": [3]}', '{z}'),
    (3, 'grace', 3, '2026-03-04 05:06:07+00', '{}', '{}');
  CREATE TABLE reserved ("delete" int, "update" text, "insert" boolean);
  CREATE TYPE address AS (city text, code int);
  CREATE TABLE homes (id int, addr address);
  CREATE FUNCTION bump() RETURNS int LANGUAGE sql VOLATILE AS 'INSERT INTO w VALUES (99); SELECT 1';
  CREATE FUNCTION definer() RETURNS int LANGUAGE sql VOLATILE SECURITY DEFINER AS 'INSERT INTO w VALUES (98); SELECT 1';
  CREATE FUNCTION quiet_definer() RETURNS int LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT bump()';
  CREATE FUNCTION touch(people) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT bump()';
  CREATE FUNCTION total_of(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT $1 + 1';
  CREATE FUNCTION add_and_bump(int, int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT $1 + $2 + bump()';
  CREATE AGGREGATE total(int) (SFUNC = add_and_bump, STYPE = int, INITCOND = '0');
  CREATE TYPE tricky AS (a text);
  CREATE FUNCTION to_tricky(text) RETURNS tricky LANGUAGE sql VOLATILE AS 'SELECT bump(); SELECT ROW($1)::tricky';
  CREATE CAST (text AS tricky) WITH FUNCTION to_tricky(text);
  CREATE PROCEDURE wipe() LANGUAGE sql AS 'DELETE FROM w';
  CREATE VIEW grown AS SELECT id, amount * 2 AS amount FROM people;
  CREATE VIEW bumping AS SELECT bump();
  CREATE FUNCTION bump_op(int, int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT bump()';
  CREATE OPERATOR <<<>>> (LEFTARG = int, RIGHTARG = int, FUNCTION = bump_op);
  CREATE TABLE flags (http_status int, lo_latency int, http text, bump_one int, bump int);
  CREATE FUNCTION bump_one(int) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT bump()';
  CREATE FUNCTION any_bump(anyelement) RETURNS int LANGUAGE sql VOLATILE AS 'SELECT bump()';`;

/** Creates the database, its roles and tables. */
export async function createPostgresFixture(): Promise<PostgresFixture> {
  const { default: pg } = await import('pg');
  const name = `heddle_${randomUUID().replaceAll('-', '')}`;
  const server = new URL(testPostgresServer ?? '');
  const urlOf = (role: PostgresRole) => {
    const url = new URL(server);
    url.pathname = `/${name}`;
    if (role !== 'admin') url.username = `${name}_${role}`;
    return url.href;
  };
  const once = async (sql: string) => {
    const client = new pg.Client({ connectionString: server.href });
    await client.connect();
    try {
      for (const statement of sql.split(';')) await client.query(statement);
    } finally {
      await client.end();
    }
  };
  const roles = ['reader', 'writer', 'files'].map((role) => `${name}_${role}`);
  await once(
    `CREATE DATABASE ${name}; ${roles.map((role) => `CREATE ROLE ${role} LOGIN`).join('; ')}; GRANT pg_read_server_files TO ${name}_files`,
  );
  const admin = new pg.Client({ connectionString: urlOf('admin') });
  await admin.connect();
  await admin.query(EXTENSIONS.map((extension) => `CREATE EXTENSION ${extension}`).join('; '));
  await admin.query(`GRANT ALL ON SCHEMA public TO ${name}_writer; SET ROLE ${name}_writer; ${TABLES}; RESET ROLE`);
  await admin.query(
    `GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${name}_reader; SELECT lo_from_bytea(4241, 'large')`,
  );
  return {
    name,
    admin,
    connection: (role, change = {}) => ({
      name: 'main',
      type: 'postgres',
      url: urlOf(role),
      access: role === 'writer' ? 'readwrite' : 'read',
      allowDdl: false,
      allowPrivilegedRole: role === 'admin',
      allowFunctions: [],
      ...change,
    }),
    async remove() {
      await admin.end();
      await once(`DROP DATABASE ${name} WITH (FORCE); ${roles.map((role) => `DROP ROLE ${role}`).join('; ')}`);
    },
  };
}

/** Returns what attacks try to change, as text. */
export async function postgresState({ admin }: PostgresFixture): Promise<string> {
  const { rows } = await admin.query(`
    SELECT (SELECT json_agg(n ORDER BY n) FROM w) AS w, (SELECT json_agg(p ORDER BY id) FROM people p) AS people,
      (SELECT last_value || ' ' || is_called FROM s) AS sequence,
      (SELECT json_agg(data::text ORDER BY loid) FROM pg_largeobject) AS large_objects,
      (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory') AS advisory_locks,
      (SELECT count(*) FROM pg_prepared_xacts) AS prepared,
      (SELECT count(*) FROM pg_replication_slots) AS slots,
      (SELECT json_agg(concat(relname, relkind, relpersistence, relowner) ORDER BY c.oid) FROM pg_class c
        WHERE c.oid > 16383) AS relations,
      (SELECT json_agg(concat(proname, provolatile) ORDER BY oid) FROM pg_proc WHERE oid > 16383) AS functions,
      (SELECT json_agg(setconfig) FROM pg_db_role_setting) AS settings`);
  return JSON.stringify(rows[0]);
}

/** Limits of a call of a test. Only a test of time sets a short timeout. */
export const runOptions = (change: Partial<StatementOptions> = {}): StatementOptions => ({
  maxRows: 1_000,
  maxBytes: 5 * 1024 * 1024,
  timeoutMs: 120_000,
  signal: new AbortController().signal,
  ...change,
});
