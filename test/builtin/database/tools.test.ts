import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client, type Transport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { ConnectionOptions } from '../../../src/builtin/database/database.ts';
import { mysqlBench, testMariadb } from '../../../src/builtin/database/mysql/fixtures.ts';
import { openOwnConnections } from '../../../src/builtin/database/open-database.ts';
import { serveDatabase } from '../../../src/builtin/database/serve-database.ts';
import type { JsonObject } from '../../../src/core/call.ts';
import { linkedPair } from '../../../src/wire/linked-pair.ts';
import { verifies } from '../../requirements.ts';
import { folderOfFile } from './folder-of-file.ts';
import { createPostgresFixture, testPostgresServer } from './postgres-fixture.ts';

const OPTIONS = { access: 'read', allowDdl: false, allowPrivilegedRole: false, allowFunctions: [] } as const;

/** A database with a table `people` of three rows, and connections `reads` and `writes` to it. */
interface Prepared {
  readonly connections: readonly ConnectionOptions[];
  readonly placeholder: string;
  remove(): Promise<void>;
}

async function prepareSqlite(): Promise<Prepared> {
  const { folder, remove } = await folderOfFile();
  const file = join(folder, 'people.db');
  const database = new DatabaseSync(file);
  database.exec(`CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT DEFAULT 'x', amount NUMERIC);
    INSERT INTO people VALUES (1, 'ada', 1.5), (2, 'alan', 22.25), (3, 'grace', 3)`);
  database.close();
  const connection = { ...OPTIONS, type: 'sqlite', database: file } as const;
  return {
    connections: [
      { ...connection, name: 'reads' },
      { ...connection, name: 'writes', access: 'readwrite' },
    ],
    placeholder: '?',
    remove,
  };
}

async function preparePostgres(): Promise<Prepared> {
  const fixture = await createPostgresFixture();
  return {
    connections: [fixture.connection('reader', { name: 'reads' }), fixture.connection('writer', { name: 'writes' })],
    placeholder: '$1',
    remove: () => fixture.remove(),
  };
}

async function prepareMariadb(): Promise<Prepared> {
  const bench = await mysqlBench();
  await bench.run("CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(50) DEFAULT 'x', amount DECIMAL(10, 2))");
  await bench.run("INSERT INTO people VALUES (1, 'ada', 1.5), (2, 'alan', 22.25), (3, 'grace', 3)");
  return {
    connections: [
      bench.connection('reader', { name: 'reads' }),
      bench.connection('writer', { name: 'writes', access: 'readwrite' }),
    ],
    placeholder: '?',
    remove: () => bench.remove(),
  };
}

const DATABASES = {
  sqlite: prepareSqlite,
  ...(testPostgresServer !== undefined && { postgres: preparePostgres }),
  ...(testMariadb !== undefined && { mariadb: prepareMariadb }),
};

const LONG = `SELECT '${'x'.repeat(1024 * 1024)}'`;
const read = (input: JsonObject): readonly [string, JsonObject] => ['db_query', { connection: 'reads', ...input }];
const BAD_INPUTS: readonly (readonly [string, JsonObject, string, RegExp])[] = [
  [...read({}), 'INPUT_INVALID', /"sql" is missing/],
  [...read({ sql: '' }), 'INPUT_INVALID', /"sql" is empty/],
  [...read({ sql: ' \n' }), 'INPUT_INVALID', /"sql" is empty/],
  [...read({ sql: '-- nothing' }), '', /./],
  [...read({ sql: 'SELECT 1; SELECT 2' }), 'STATEMENT_REFUSED', /./],
  [...read({ sql: 'SELECT 1\0' }), 'INPUT_INVALID', /NUL/],
  [...read({ sql: LONG }), 'INPUT_INVALID', /at most 102400 are sent/],
  [...read({ sql: "SELECT '\ud800'" }), 'INPUT_INVALID', /half a character/],
  [...read({ sql: 'SELECT 1', params: ['\udc00'] }), 'INPUT_INVALID', /value 1 of "params" has half a character/],
  [...read({ sql: 'SELECT 1', params: new Array(40_000).fill(1) }), 'INPUT_INVALID', /40000 values, and at most 10000/],
  [...read({ sql: 'SELECT 1', params: 'one' }), 'INPUT_INVALID', /has to be an array/],
  [...read({ sql: 'SELECT 1', params: [1, 2] }), 'INPUT_INVALID', /\b0\b/],
  [...read({ sql: 'SELEC 1' }), 'STATEMENT_', /./],
  [...read({ sql: 'SELECT * FROM peple' }), 'STATEMENT_FAILED', /peple/],
  [...read({ sql: "INSERT INTO people (id, name) VALUES (9, 'x')" }), 'STATEMENT_REFUSED', /INSERT/i],
  [...read({ sql: 'SELECT 1', connection: 'raeds' }), 'NAME_UNKNOWN', /Choose one of: reads, writes/],
  [
    ...read({ sql: 'SELECT 1', connection: 'x'.repeat(10_000) }),
    'NAME_UNKNOWN',
    /^There is no connection .{1,350} here/,
  ],
  ['db_query', { sql: 'SELECT 1' }, 'INPUT_INVALID', /"connection" is missing. Choose one of: reads, writes/],
  ['db_execute', { connection: 'reads', sql: 'DELETE FROM people' }, 'NAME_UNKNOWN', /Choose one of: writes/],
  ['db_execute', { sql: 'SELECT 1' }, 'STATEMENT_REFUSED', /./],
  ['db_describe_table', { connection: 'reads', tableName: 'poeple' }, 'NAME_UNKNOWN', /Choose one of: people/],
  ['db_describe_table', { connection: 'reads', tableName: 'a.b.c' }, 'INPUT_INVALID', /not the name of a table/],
  ['db_list_tables', { connection: 'reads', schema: 'nowhere' }, 'NAME_UNKNOWN', /Schemas with tables: \w+/],
];
/** Inputs without a code: they concern the form of the arguments, not the database. */
const BAD_FORMS: readonly (readonly [string, JsonObject, RegExp])[] = [
  [...read({ sql: 'SELECT 1', maxRows: 0 }), /"maxRows" has to be a whole number from 1 to 100/],
  [...read({ sql: 'SELECT 1', maxRows: 101 }), /from 1 to 100, not 101/],
  [...read({ sql: 'SELECT 1', maxRows: '5' }), /not "5"/],
  [...read({ sql: 5 }), /"sql" has to be a string/],
  [...read({ sql: 'SELECT 1', rows: 1 }), /no argument "rows"/],
  ['db_describe_table', { connection: 'reads' }, /"tableName" is missing/],
];

/** The facts that only `db_execute` has. */
const approvalOf: Readonly<Record<string, JsonObject>> = { db_execute: { approval: 'always' } };

describe.each(Object.entries(DATABASES))('the database tools with %s', (type, prepare) => {
  let prepared: Prepared;
  let connections: ReturnType<typeof openOwnConnections>;

  beforeAll(async () => {
    prepared = await prepare();
    connections = openOwnConnections(prepared.connections);
  });
  afterAll(async () => {
    await connections.close();
    await prepared.remove();
  });

  async function connect(mode: 'legacy' | 'auto' = 'auto', readOnly = false, maxRows = 100) {
    const [near, far] = linkedPair();
    await serveDatabase(far, { connections, queryTimeoutMs: 60_000, maxRows, readOnly });
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(near as Transport);
    // The client checks results by the output schemas of the listed tools.
    const { tools } = await client.listTools();
    const call = async (name: string, input: JsonObject) =>
      (await client.callTool({ name, arguments: input })) as JsonObject;
    const resultOf = async (name: string, input: JsonObject) => {
      const { structuredContent, content } = await call(name, input);
      expect(structuredContent, JSON.stringify(content)).toBeDefined();
      return structuredContent as JsonObject;
    };
    return { tools, call, resultOf };
  }

  for (const mode of ['legacy', 'auto'] as const) {
    verifies('B2', `${type}: results fit the output schemas for a client that negotiates as ${mode}`, async () => {
      const { resultOf } = await connect(mode);
      const sql = `SELECT id, name, id FROM people WHERE id < ${prepared.placeholder} ORDER BY id`;
      expect(await resultOf('db_query', { connection: 'reads', sql, params: [3] })).toEqual({
        rows: [
          { id: 1, name: 'ada', id_2: 1 },
          { id: 2, name: 'alan', id_2: 2 },
        ],
        rowCount: 2,
        truncated: false,
        columns: ['id', 'name', 'id_2'].map((name) => ({ name, type: expect.stringMatching(/./) })),
        durationMs: expect.any(Number),
      });
      expect(
        await resultOf('db_query', { connection: 'reads', sql: 'SELECT * FROM people', maxRows: 1 }),
      ).toMatchObject({
        ...{ rowCount: 1, truncated: true },
      });
      const { tables } = (await resultOf('db_list_tables', { connection: 'reads' })) as { tables: JsonObject[] };
      const table = tables.find(({ table_name }) => table_name === 'people');
      expect(table).toMatchObject({ table_type: 'table' });
      for (const tableName of ['people', `${table?.table_schema}.people`, '"people"']) {
        expect(await resultOf('db_describe_table', { connection: 'reads', tableName })).toMatchObject({
          columns: expect.arrayContaining([expect.objectContaining({ column_name: 'name', is_nullable: true })]),
        });
      }
      expect(await resultOf('db_list_tables', { connection: 'reads', schema: `${table?.table_schema}` })).toMatchObject(
        {
          truncated: false,
        },
      );
      expect(await resultOf('db_explain', { connection: 'reads', sql, params: [3] })).toMatchObject({
        truncated: false,
      });
    });
  }

  verifies('B2', `${type}: describes every column of a table, however few rows are permitted`, async () => {
    const { resultOf } = await connect('auto', false, 1);
    const { columns } = await resultOf('db_describe_table', { connection: 'reads', tableName: 'people' });
    const names = (columns as JsonObject[]).map(({ column_name }) => column_name);
    expect(names.slice(0, 3)).toEqual(['id', 'name', 'amount']);
  });

  verifies('B2', `${type}: db_execute commits, returns the affected rows and those of RETURNING`, async () => {
    const { resultOf, call } = await connect();
    const sql = `INSERT INTO people (id, name) VALUES (4, ${prepared.placeholder}) RETURNING id, name`;
    const added = await resultOf('db_execute', { sql, params: ['hopper'] });
    expect(added).toMatchObject({ affectedRows: 1, rows: [{ id: 4, name: 'hopper' }], rowCount: 1, truncated: false });
    const removed = await resultOf('db_execute', { sql: 'DELETE FROM people WHERE id = 4' });
    expect(removed).toMatchObject({ affectedRows: 1, rows: [], rowCount: 0, columns: [] });
    const failed = await call('db_execute', { sql: "INSERT INTO people (id, name) VALUES (1, 'again')" });
    expect(failed).toMatchObject({ isError: true, _meta: { 'dev.heddle/code': 'STATEMENT_FAILED' } });
    const { rows } = await resultOf('db_query', { connection: 'writes', sql: 'SELECT name FROM people ORDER BY id' });
    expect(rows).toEqual([{ name: 'ada' }, { name: 'alan' }, { name: 'grace' }]);
  });

  verifies('B2', `${type}: says what is wrong with bad input, with a code, and works afterwards`, async () => {
    const { call, resultOf } = await connect();
    const failureOf = async (name: string, input: JsonObject) => {
      const { isError, content, _meta: meta } = await call(name, input);
      const [first, ...others] = content as { text: string }[];
      expect.soft([isError, others]).toEqual([true, []]);
      expect.soft(first?.text.length).toBeLessThan(1000);
      return { text: first?.text ?? '', code: String((meta as JsonObject | undefined)?.['dev.heddle/code']) };
    };
    for (const [name, input, code, message] of BAD_INPUTS) {
      const failure = await failureOf(name, input);
      expect.soft(failure.text, JSON.stringify(input).slice(0, 100)).toMatch(message);
      expect
        .soft(failure.code.startsWith(code), `${code} for ${JSON.stringify(input).slice(0, 100)}: ${failure.code}`)
        .toBe(true);
    }
    for (const [name, input, message] of BAD_FORMS) {
      expect.soft((await failureOf(name, input)).text, JSON.stringify(input)).toMatch(message);
    }
    expect(
      await resultOf('db_query', { connection: 'reads', sql: 'SELECT name FROM people WHERE id = 1' }),
    ).toMatchObject({
      rows: [{ name: 'ada' }],
    });
  });

  verifies(
    'B3',
    `${type}: the tools state their facts, and db_execute only for connections that may be written`,
    async () => {
      const { tools } = await connect();
      expect(tools.map(({ name }) => name)).toEqual([
        ...['db_query', 'db_list_tables', 'db_describe_table', 'db_explain', 'db_execute'],
      ]);
      const ends: Readonly<Record<string, string>> = {
        sqlite: 'VALUES, PRAGMA or EXPLAIN',
        postgres: 'SHOW or EXPLAIN',
      };
      expect(tools[0]?.description).toContain(`${ends[type] ?? 'DESCRIBE or EXPLAIN'}. `);
      for (const { name, title, annotations, _meta: meta, inputSchema } of tools) {
        const isRead = name !== 'db_execute';
        const fileAccess = isRead ? 'fs:read' : 'fs:write';
        expect(title).toMatch(/^[A-Z]/);
        expect(annotations).toMatchObject({ readOnlyHint: isRead, destructiveHint: !isRead, idempotentHint: isRead });
        expect(meta?.['dev.heddle/tool']).toEqual({
          ...{
            category: 'database',
            riskLevel: isRead ? 'low' : 'high',
            idempotent: isRead,
            requiresApproval: !isRead,
          },
          ...approvalOf[name],
          requires: [type === 'sqlite' ? fileAccess : 'network'],
          timeout: 62_000,
        });
        const { connection } = inputSchema.properties as Record<string, JsonObject>;
        expect(connection?.enum).toEqual(isRead ? ['reads', 'writes'] : ['writes']);
      }
      const alone = await connect('auto', true);
      expect(alone.tools.map(({ name }) => name)).not.toContain('db_execute');
    },
  );
});
