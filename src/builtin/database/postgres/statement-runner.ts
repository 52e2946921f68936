import type { PoolClient } from 'pg';
import type Cursor from 'pg-cursor';
import type { Json } from '../../../core/call.ts';
import type { Column, ConnectionOptions, Execution, RowSet, StatementOptions } from '../database.ts';
import { startDeadline } from '../deadline.ts';
import { columnDescriber } from './describe-columns.ts';
import type { SentText } from './postgres-failure.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { type PostgresRows, type ReadRequest, readPostgresRows } from './read-postgres-rows.ts';
import { functionCheck, type LookUpVolatile, VOLATILE_NAMES_SQL } from './statements/function-check.ts';
import type { PreparedStatement } from './statements/prepare-statement.ts';
import { type OpenTransaction, runAndCommit, runReadOnly } from './transaction.ts';

/** The parts of an open database. */
export interface DatabaseParts {
  readonly connection: ConnectionOptions;
  readonly pool: PostgresPool;
  readonly CursorClass: typeof Cursor;
}

/** Runs statements whose syntax is checked. Their functions are checked on the connection that runs them. */
export interface StatementRunner {
  /** Runs a statement, with `prefix` before it, in a READ ONLY transaction. */
  read(statement: PreparedStatement, prefix: string, options: StatementOptions): Promise<RowSet>;
  /** Reads the catalog with SQL of Heddle. */
  readCatalog(
    sql: string,
    params: readonly (string | null)[],
    options: StatementOptions,
  ): Promise<readonly (readonly Json[])[]>;
  /** Runs a statement in a transaction of its own and commits it. */
  commit(statement: PreparedStatement, options: StatementOptions): Promise<Execution>;
}

type Work<T> = (open: OpenTransaction) => Promise<T>;

/** Returns the runner of one database. */
export function statementRunner({ connection, pool, CursorClass }: DatabaseParts): StatementRunner {
  const functions = functionCheck(connection.allowFunctions);
  const describe = columnDescriber();

  async function within<T>(sent: SentText, options: StatementOptions, work: Work<T>, run = runReadOnly): Promise<T> {
    const deadline = startDeadline(options);
    try {
      return await run({ pool, connection, deadline, sent }, work);
    } finally {
      deadline.clear();
    }
  }

  const readRows = (
    open: OpenTransaction,
    request: Omit<ReadRequest, 'maxRows' | 'maxBytes'>,
    options: StatementOptions,
  ) => readPostgresRows(open, CursorClass, { ...request, maxRows: options.maxRows, maxBytes: options.maxBytes });

  /** Names the columns. An abandoned connection cannot: another one does then. */
  function columnsOf(
    { fields }: PostgresRows,
    open: OpenTransaction,
    options: StatementOptions,
  ): Promise<readonly Column[]> {
    if (!open.isAbandoned) return describe(open.client, fields);
    return within({ prefix: '', sql: '' }, options, ({ client }) => describe(client, fields));
  }

  return {
    read: (statement, prefix, options) =>
      within({ prefix, sql: statement.rules.sql }, options, async (open) => {
        await functions.check(statement.checked, statement.rules, lookUpWith(open.client));
        const sql = prefix + statement.rules.sql;
        const result = await readRows(open, { sql, params: statement.params, extent: 'limited' }, options);
        const columns = await columnsOf(result, open, options);
        return { columns, rows: result.rows, truncated: result.truncated };
      }),
    readCatalog: (sql, params, options) =>
      within(
        { prefix: '', sql },
        options,
        async (open) => (await readRows(open, { sql, params, extent: 'limited' }, options)).rows,
      ),
    commit(statement, options) {
      const { params, rules } = statement;
      const work: Work<Execution> = async (open) => {
        await functions.check(statement.checked, rules, lookUpWith(open.client));
        const result = await readRows(open, { sql: rules.sql, params, extent: 'all' }, options);
        const { fields, rows, truncated, seen, tagRows } = result;
        const columns = open.isAbandoned ? [] : await describe(open.client, fields);
        // With RETURNING the tag counts the rows of the last batch only.
        return { columns, rows, truncated, affectedRows: fields.length > 0 ? seen : tagRows };
      };
      return within({ prefix: '', sql: rules.sql }, options, work, runAndCommit);
    },
  };
}

interface VolatileRow {
  readonly kind: string;
  readonly name: string;
  readonly takes_one: boolean;
  readonly takes_row: boolean;
}

/** Returns a look-up in the catalog by a connection. */
const lookUpWith =
  (client: PoolClient): LookUpVolatile =>
  async ({ functions, types, operators }) => {
    const values = [functions, types, operators];
    const { rows } = await client.query<VolatileRow>(VOLATILE_NAMES_SQL, values);
    const named = (is: (row: VolatileRow) => boolean) => rows.filter(is).map(({ name }) => name);
    return {
      functions: named(({ kind }) => kind === 'function'),
      ofValues: named(({ takes_one }) => takes_one),
      ofRows: named(({ takes_row }) => takes_row),
      types: named(({ kind }) => kind === 'type'),
      operators: named(({ kind }) => kind === 'operator'),
    };
  };
