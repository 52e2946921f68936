import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Database } from '../../../src/builtin/database/database.ts';
import { openPostgresDatabase } from '../../../src/builtin/database/postgres/open-postgres-database.ts';
import type { Json } from '../../../src/core/call.ts';
import { verifies } from '../../requirements.ts';
import {
  createPostgresFixture,
  type PostgresFixture,
  postgresState,
  runOptions,
  testPostgresServer,
} from './postgres-fixture.ts';
import { POSTGRES_WRITE_ATTACKS } from './postgres-write-attacks.ts';

const never = new AbortController().signal;

describe.skipIf(!testPostgresServer)('a Postgres connection for writing', () => {
  let fixture: PostgresFixture;
  let database: Database;
  let definer: Database;

  beforeAll(async () => {
    fixture = await createPostgresFixture();
    database = await openPostgresDatabase(fixture.connection('writer'), never);
    definer = await openPostgresDatabase(fixture.connection('writer', { allowDdl: true }), never);
  });

  afterAll(async () => {
    await database?.close();
    await definer?.close();
    await fixture?.remove();
  });

  const execute = (sql: string, params: readonly Json[] = [], change = {}) =>
    database.execute({ sql, params }, runOptions(change));
  const define = (sql: string) => definer.execute({ sql, params: [] }, runOptions());
  const preview = (sql: string, params: readonly Json[] = []) => definer.preview({ sql, params }, runOptions());
  const numbers = async () => (await fixture.admin.query('SELECT n FROM w ORDER BY n')).rows.map(({ n }) => n);

  verifies('B2', 'commits one change and counts its rows', async () => {
    expect(await execute('INSERT INTO w VALUES ($1), ($2)', [10, 11])).toMatchObject({ affectedRows: 2, rows: [] });
    expect(await execute('UPDATE w SET n = n + 1 WHERE n >= 10 RETURNING n')).toMatchObject({
      affectedRows: 2,
      rows: [[11], [12]],
      columns: [{ name: 'n', type: 'integer' }],
    });
    expect(await numbers()).toEqual([1, 2, 11, 12]);
    expect(await execute('DELETE FROM w WHERE n > 10')).toMatchObject({ affectedRows: 2 });
    expect(
      await execute('MERGE INTO w USING (VALUES (1)) v (n) ON v.n = w.n WHEN MATCHED THEN DO NOTHING'),
    ).toMatchObject({
      affectedRows: 0,
    });
    expect(await execute("INSERT INTO w SELECT nextval('s') + bump() RETURNING n")).toMatchObject({ rows: [[2]] });
    await fixture.admin.query('TRUNCATE w; INSERT INTO w VALUES (1), (2)');
  });

  verifies('B2', 'truncates returned rows, not the change', async () => {
    const sql = 'INSERT INTO w SELECT generate_series(101, 3600) RETURNING n';
    const { rows, ...result } = await execute(sql, [], { maxRows: 5 });
    expect(result).toMatchObject({ affectedRows: 3_500, truncated: true });
    expect(rows).toHaveLength(5);
    expect(await execute('DELETE FROM w WHERE n > 100 RETURNING n', [], { maxBytes: 1_000_000 })).toMatchObject({
      affectedRows: 3_500,
      truncated: true,
    });
    expect(await numbers()).toEqual([1, 2]);
  });

  verifies('B2', 'rolls back whatever fails before COMMIT, and says so', async () => {
    const before = await postgresState(fixture);
    await fixture.admin.query(
      'CREATE TABLE late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED); GRANT ALL ON late TO PUBLIC',
    );
    const rolledBack = {
      code: 'STATEMENT_FAILED',
      message: expect.stringContaining('rolled back: nothing was changed'),
    };
    await expect(execute('UPDATE people SET id = 1')).rejects.toMatchObject(rolledBack);
    await expect(execute('INSERT INTO late VALUES (1), (1)')).rejects.toMatchObject(rolledBack);
    await expect(execute("INSERT INTO w SELECT 1 RETURNING repeat('x', 9000000)")).rejects.toMatchObject(rolledBack);
    expect(await execute('INSERT INTO late VALUES (1)')).toMatchObject({ affectedRows: 1 });
    await fixture.admin.query('DROP TABLE late');
    expect(await postgresState(fixture)).toBe(before);
  });

  verifies('B2', 'refuses what may not be written, and changes nothing', async () => {
    const before = await postgresState(fixture);
    const permitted: string[] = [];
    for (const sql of POSTGRES_WRITE_ATTACKS) {
      for (const run of [define, preview]) {
        const refused = await run(sql).then(
          () => false,
          ({ code, message }) => code === 'STATEMENT_REFUSED' || message.startsWith('The statement is no valid SQL'),
        );
        if (!refused) permitted.push(sql);
      }
    }
    expect(permitted).toEqual([]);
    expect(await postgresState(fixture)).toBe(before);
  });

  const DEFINITIONS = [
    "CREATE TABLE d (id int PRIMARY KEY, a text DEFAULT lower('X') CHECK (length(a) < 9), b int REFERENCES people (id))",
    'ALTER TABLE d ADD COLUMN c numeric(5, 2) NOT NULL DEFAULT 0, ALTER COLUMN a SET NOT NULL',
    'CREATE UNIQUE INDEX d_a ON d (lower(a)) WHERE b > 0',
    'ALTER INDEX d_a RENAME TO d_lower_a',
    'CREATE VIEW d_view AS SELECT id, a FROM d',
    'CREATE MATERIALIZED VIEW d_matview AS SELECT 1 AS one',
    'CREATE SEQUENCE d_seq OWNED BY d.id',
    'ALTER SEQUENCE d_seq RESTART WITH 5',
    "CREATE TYPE d_mood AS ENUM ('glad')",
    "ALTER TYPE d_mood ADD VALUE 'sad'",
    'CREATE TYPE d_pair AS (a int, b text)',
    'CREATE DOMAIN d_positive AS int CHECK (VALUE > 0)',
    'CREATE TABLE d_parts (n int) PARTITION BY RANGE (n)',
    'CREATE TABLE d_part PARTITION OF d_parts FOR VALUES FROM (1) TO (10)',
    'CREATE TABLE d_copy AS SELECT * FROM people',
    'CREATE TABLE d_like (LIKE people INCLUDING ALL)',
    "COMMENT ON COLUMN d.a IS 'a text'",
    'ALTER TABLE d RENAME COLUMN c TO e',
    'TRUNCATE d_copy',
    'DROP TABLE d, d_parts, d_copy, d_like CASCADE',
    'DROP MATERIALIZED VIEW d_matview',
    'DROP TYPE d_mood, d_pair',
    'DROP DOMAIN d_positive',
  ];

  verifies('B2', 'changes tables, indexes, views, sequences and types with allowDdl only', async () => {
    const before = await postgresState(fixture);
    for (const sql of DEFINITIONS) {
      await expect(execute(sql), sql).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
      await define(sql);
    }
    expect(await postgresState(fixture)).toBe(before);
    expect(await preview('DROP TABLE people')).toBe('No estimate: DROP changes definitions, not single rows.');
  });

  verifies('B2', 'shows an approver the estimate of the database without running the statement', async () => {
    await fixture.admin.query('ANALYZE people, w');
    const before = await postgresState(fixture);
    expect(await preview('DELETE FROM people')).toBe('DELETE of about 3 rows, as the database estimates.');
    expect(await preview('UPDATE people SET name = $1 WHERE id = $2', ['x', 1])).toContain('UPDATE of about 1 row,');
    expect(await preview('INSERT INTO w SELECT bump() FROM people')).toContain('INSERT of about 3 rows');
    expect(await preview('INSERT INTO w VALUES (1) RETURNING n')).toContain('INSERT of about 1 row,');
    await expect(preview('DELETE FROM nowhere')).rejects.toThrow(
      'relation "nowhere" does not exist (line 1, column 13)',
    );
    expect(await postgresState(fixture)).toBe(before);
  });

  verifies('B2', 'explains statements that read or change rows, and runs nothing', async () => {
    const explain = (one: Database, sql: string, params: readonly Json[] = []) =>
      one.explain({ sql, params }, runOptions());
    const before = await postgresState(fixture);
    const plan = await explain(database, 'SELECT * FROM people WHERE id = $1', [1]);
    expect(JSON.stringify(plan.rows)).toContain('people');
    expect(JSON.stringify((await explain(database, 'DELETE FROM w')).rows)).toContain('Delete on w');
    expect((await explain(database, 'EXPLAIN (FORMAT JSON) SELECT 1')).columns).toEqual([
      { name: 'QUERY PLAN', type: 'json' },
    ]);
    await expect(explain(database, 'SHOW ALL')).rejects.toThrow('SHOW has no plan');
    await expect(explain(database, 'EXPLAIN ANALYZE SELECT 1')).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    const reader = await openPostgresDatabase(fixture.connection('reader'), never);
    // The database wants the privilege of the statement.
    await expect(explain(reader, 'DELETE FROM w')).rejects.toMatchObject({
      code: 'STATEMENT_FAILED',
      message: expect.stringContaining('permission denied'),
    });
    await reader.close();
    expect(await postgresState(fixture)).toBe(before);
  });

  verifies('B2', 'lists tables and views, and describes columns', async () => {
    const tables = await database.listTables(undefined, runOptions());
    expect(tables).toContainEqual({ table_schema: 'public', table_name: 'people', table_type: 'table' });
    expect(tables).toContainEqual({ table_schema: 'public', table_name: 'grown', table_type: 'view' });
    expect(tables.filter(({ table_schema }) => table_schema !== 'public')).toEqual([]);
    expect(await database.listTables('pg_catalog', runOptions())).toContainEqual(
      expect.objectContaining({ table_name: 'pg_class' }),
    );
    expect(await database.listTables('nowhere', runOptions())).toEqual([]);
    await fixture.admin.query(`CREATE SCHEMA other; CREATE TABLE other."Odd Name" (a int NOT NULL DEFAULT 1 + 1, b text);
      GRANT USAGE ON SCHEMA other TO PUBLIC; GRANT SELECT ON other."Odd Name" TO PUBLIC`);
    expect(await database.describeTable({ schema: 'other', table: 'Odd Name' }, runOptions())).toEqual([
      { column_name: 'a', data_type: 'integer', is_nullable: false, column_default: '(1 + 1)' },
      { column_name: 'b', data_type: 'text', is_nullable: true, column_default: null },
    ]);
    expect(await database.describeTable({ table: 'Odd Name' }, runOptions())).toBeUndefined();
    expect(await database.describeTable({ table: "x' OR true --" }, runOptions())).toBeUndefined();
  });
});
