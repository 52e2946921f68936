import type { Database } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import { COLUMNS_SQL, TABLES_SQL } from './catalog-queries.ts';
import { estimateRows } from './estimate-rows.ts';
import { type DatabaseParts, statementRunner } from './statement-runner.ts';
import { statementPreparer } from './statements/prepare-statement.ts';

/** Returns the database on an open pool. */
export function postgresDatabase(parts: DatabaseParts, warnings: readonly string[]): Database {
  const prepare = statementPreparer(parts.connection);
  const { read, readCatalog, commit } = statementRunner(parts);
  return {
    warnings,
    close: parts.pool.end,
    async query(statement, options) {
      return read(await prepare(statement, 'read'), '', options);
    },
    async explain(statement, options) {
      const prepared = await prepare(statement, 'plan');
      const { kind } = prepared.checked;
      if (kind === 'show') throw new DatabaseFailure('STATEMENT_REFUSED', 'SHOW has no plan. Run it with db_query.');
      return read(prepared, kind === 'explain' ? '' : 'EXPLAIN ', options);
    },
    async listTables(schema, options) {
      const rows = await readCatalog(TABLES_SQL, [schema ?? null], options);
      return rows.map(([table_schema, table_name, table_type]) => ({
        table_schema: String(table_schema),
        table_name: String(table_name),
        table_type: table_type === 'view' ? 'view' : 'table',
      }));
    },
    async describeTable({ schema, table }, options) {
      const rows = await readCatalog(COLUMNS_SQL, [table, schema ?? null], options);
      if (rows.length === 0) return undefined;
      return rows.map(([name, type, isNullable, value]) => ({
        column_name: String(name),
        data_type: String(type),
        is_nullable: isNullable === true,
        column_default: typeof value === 'string' ? value : null,
      }));
    },
    async execute(statement, options) {
      return commit(await prepare(statement, 'write'), options);
    },
    async preview(statement, options) {
      const prepared = await prepare(statement, 'write');
      const { kind, words } = prepared.checked;
      if (kind === 'define') return `No estimate: ${words} changes definitions, not single rows.`;
      const { rows } = await read(prepared, 'EXPLAIN (FORMAT JSON) ', { ...options, maxRows: 1 });
      return describeEstimate(words, estimateRows(rows[0]?.[0]));
    },
  };
}

function describeEstimate(words: string, rows: number | undefined): string {
  if (rows === undefined) return 'No estimate: the plan has none.';
  return `${words} of about ${rows} ${rows === 1 ? 'row' : 'rows'}, as the database estimates.`;
}
