import type { JsonObject } from '../../core/call.ts';
import { readToolArguments } from '../read-arguments.ts';
import type { BuiltinTool } from '../serve-tools.ts';
import type { Connections } from './connections.ts';
import type { ConnectionOptions, Statement } from './database.ts';
import { writesDatabase } from './facts.ts';
import { readConnection, readStatement, requiredWith, statementProperties } from './read-statement.ts';
import { ROWS_SCHEMA, rowsOn, type ToolOptions } from './run-on.ts';

/** Returns the connections that may be written. */
export const writableOf = (connections: Connections): readonly ConnectionOptions[] =>
  connections.list().filter(({ access }) => access === 'readwrite');

/** Reads the arguments of `db_execute`: a connection that may be written, and a statement. */
export function readExecution(
  input: JsonObject,
  connections: Connections,
): { readonly connection: ConnectionOptions; readonly statement: Statement } {
  const args = readToolArguments(input, ['connection', 'sql', 'params']);
  return { connection: readConnection(args, writableOf(connections)), statement: readStatement(args, input) };
}

/** The tool `db_execute`. */
export function executeTool(options: ToolOptions): BuiltinTool {
  const { connections, queryTimeoutMs, maxRows } = options;
  const listed = writableOf(connections);
  const results = {
    affectedRows: { type: 'integer', minimum: 0, description: 'Rows that the statement matched.' },
    ...ROWS_SCHEMA,
  };
  return {
    definition: {
      name: 'db_execute',
      title: 'Change a database',
      description:
        `Runs one ${statementsOf(listed)} in a transaction of its own and commits it. Needs an approval each time. ` +
        `Returns at most ${maxRows} rows of RETURNING; the limit does not affect the change.`,
      inputSchema: {
        type: 'object',
        properties: statementProperties(listed),
        required: requiredWith(listed, 'sql'),
        additionalProperties: false,
      },
      outputSchema: { type: 'object', properties: results, required: Object.keys(results) },
      ...writesDatabase({ connections: listed, queryTimeoutMs }),
    },
    async run(input, signal) {
      const { connection, statement } = readExecution(input, connections);
      return rowsOn(options, { connection: connection.name, signal }, (database, run) =>
        database.execute(statement, run),
      );
    },
  };
}

function statementsOf(listed: readonly ConnectionOptions[]): string {
  const changing = listed.filter(({ allowDdl }) => allowDdl).map(({ name }) => name);
  const ddl = changing.length > 0 ? `, or one CREATE, ALTER, DROP or TRUNCATE on ${changing.join(', ')},` : '';
  return `INSERT, UPDATE, DELETE or MERGE${ddl}`;
}
