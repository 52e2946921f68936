import { nearestFirst } from '../../core/text/did-you-mean.ts';
import { readToolArguments } from '../read-arguments.ts';
import { type BuiltinTool, structured } from '../serve-tools.ts';
import { quote } from '../tool-failure.ts';
import type { Database, StatementOptions, TableEntry } from './database.ts';
import { DatabaseFailure } from './database-failure.ts';
import { readsDatabase } from './facts.ts';
import { connectionProperty, readConnection, requiredWith } from './read-statement.ts';
import { runOn, type ToolOptions } from './run-on.ts';

const MAX_TABLES = 10_000;
const MAX_NAMED = 20;

/** The tool `db_list_tables`. */
export function listTablesTool(options: ToolOptions): BuiltinTool {
  const { connections } = options;
  return {
    definition: definition(options),
    async run(input, signal) {
      const args = readToolArguments(input, ['connection', 'schema']);
      const { name: connection } = readConnection(args, connections.list());
      const schema = args.text('schema');
      // One more than is returned, to know whether there are more.
      const found = await runOn(options, { connection, maxRows: MAX_TABLES + 1, signal }, async (database, run) => {
        const tables = await database.listTables(schema, run);
        if (tables.length === 0 && schema !== undefined) await refuseUnknownSchema(schema, database, run);
        return tables;
      });
      const tables = found.slice(0, MAX_TABLES).map(({ table_schema, table_name, table_type }) => ({
        ...{ table_schema, table_name, table_type },
      }));
      return structured({ tables, truncated: found.length > MAX_TABLES });
    },
  };
}

async function refuseUnknownSchema(schema: string, database: Database, run: StatementOptions): Promise<void> {
  const schemas = new Set((await database.listTables(undefined, run)).map((table) => table.table_schema));
  const names = nearestFirst(schema, schemas);
  const others = names.length === 0 ? 'The database has no tables.' : `Schemas with tables: ${shown(names)}.`;
  throw new DatabaseFailure('NAME_UNKNOWN', `There is no table in a schema ${quote(schema)}. ${others}`);
}

/** Names the tables like the unknown one first. */
export function unknownTable(written: string, tables: readonly TableEntry[]): DatabaseFailure {
  const hasSchemas = new Set(tables.map(({ table_schema }) => table_schema)).size > 1;
  const names = tables.map(({ table_schema, table_name }) =>
    hasSchemas || written.includes('.') ? `${table_schema}.${table_name}` : table_name,
  );
  const nearest = nearestFirst(written, names);
  const others = names.length === 0 ? 'The database has no tables.' : `Choose one of: ${shown(nearest)}.`;
  return new DatabaseFailure('NAME_UNKNOWN', `There is no table ${quote(written)}. ${others}`);
}

/** Lists the first names. They come from the database, so each is quoted if it is not a plain word. */
function shown(names: readonly string[]): string {
  const first = names.slice(0, MAX_NAMED).map((name) => (/^[\w.$-]{1,100}$/.test(name) ? name : quote(name)));
  const more = names.length - first.length;
  return `${first.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function definition({ connections, queryTimeoutMs }: ToolOptions): BuiltinTool['definition'] {
  const listed = connections.list();
  const properties = {
    ...connectionProperty(listed),
    schema: {
      type: 'string',
      minLength: 1,
      description: 'Only tables of this schema. Without it, all but the system’s.',
    },
  };
  const table = {
    table_schema: { type: 'string' },
    table_name: { type: 'string' },
    table_type: { type: 'string', enum: ['table', 'view'] },
  };
  return {
    name: 'db_list_tables',
    title: 'List tables',
    description: `Lists tables and views with their schema, at most ${MAX_TABLES}.`,
    inputSchema: { type: 'object', properties, required: requiredWith(listed), additionalProperties: false },
    outputSchema: {
      type: 'object',
      properties: {
        tables: { type: 'array', items: { type: 'object', properties: table, required: Object.keys(table) } },
        truncated: { type: 'boolean', description: 'True when there are more. Name a schema then.' },
      },
      required: ['tables', 'truncated'],
    },
    ...readsDatabase({ connections: listed, queryTimeoutMs }),
  };
}
