import { readToolArguments } from '../read-arguments.ts';
import { type BuiltinTool, structured } from '../serve-tools.ts';
import { ToolFailure } from '../tool-failure.ts';
import type { Database, StatementOptions, TableName } from './database.ts';
import { readsDatabase } from './facts.ts';
import { unknownTable } from './list-tables.ts';
import { parseTableName } from './parse-table-name.ts';
import { connectionProperty, readConnection, requiredWith } from './read-statement.ts';
import { runOn, type ToolOptions } from './run-on.ts';

/** More columns than a table of any of the databases can have: SQLite has 32,767. */
const MAX_COLUMNS = 40_000;

/** The tool `db_describe_table`. */
export function describeTableTool(options: ToolOptions): BuiltinTool {
  const { connections } = options;
  return {
    definition: definition(options),
    async run(input, signal) {
      const args = readToolArguments(input, ['connection', 'tableName', 'schema']);
      const { name: connection } = readConnection(args, connections.list());
      const written = args.text('tableName');
      if (written === undefined) throw new ToolFailure('The argument "tableName" is missing. Name the table.');
      const schema = args.text('schema');
      const name = parseTableName(written, schema);
      const columns = await runOn(options, { connection, maxRows: MAX_COLUMNS, signal }, async (database, run) => {
        const found = await describe(database, { name, written }, run);
        if (found) return found;
        const shown = schema === undefined ? written : `${schema}.${written}`;
        throw unknownTable(shown, await database.listTables(undefined, run));
      });
      return structured({
        columns: columns.map(({ column_name, data_type, is_nullable, column_default }) => ({
          ...{ column_name, data_type, is_nullable, column_default },
        })),
      });
    },
  };
}

interface Wanted {
  readonly name: TableName;
  readonly written: string;
}

/** Describes a table. A name with a dot may also be that of one table. */
async function describe(database: Database, { name, written }: Wanted, run: StatementOptions) {
  const found = await database.describeTable(name, run);
  return found ?? (written.includes('.') ? database.describeTable({ table: written }, run) : undefined);
}

function definition({ connections, queryTimeoutMs }: ToolOptions): BuiltinTool['definition'] {
  const listed = connections.list();
  const properties = {
    ...connectionProperty(listed),
    tableName: { type: 'string', minLength: 1, description: 'Table or view: orders, shop.orders, "Order Items".' },
    schema: { type: 'string', minLength: 1, description: 'Its schema, if the name has none.' },
  };
  const column = {
    column_name: { type: 'string' },
    data_type: { type: 'string', description: 'As the database names it.' },
    is_nullable: { type: 'boolean' },
    column_default: { type: ['string', 'null'], description: 'The expression of the default.' },
  };
  return {
    name: 'db_describe_table',
    title: 'Describe a table',
    description: 'Lists the columns of a table or view with type, default and whether they may be null.',
    inputSchema: {
      type: 'object',
      properties,
      required: requiredWith(listed, 'tableName'),
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        columns: { type: 'array', items: { type: 'object', properties: column, required: Object.keys(column) } },
      },
      required: ['columns'],
    },
    ...readsDatabase({ connections: listed, queryTimeoutMs }),
  };
}
