import { readToolArguments } from '../read-arguments.ts';
import type { BuiltinTool } from '../serve-tools.ts';
import { readsDatabase } from './facts.ts';
import { readConnection, readStatement, requiredWith, statementProperties } from './read-statement.ts';
import { ROWS_SCHEMA, rowsOn, type ToolOptions } from './run-on.ts';

/** The tool `db_explain`. */
export function explainTool(options: ToolOptions): BuiltinTool {
  const { connections, queryTimeoutMs } = options;
  const listed = connections.list();
  return {
    definition: {
      name: 'db_explain',
      title: 'Explain a statement',
      description: 'Returns the plan of one statement as the database prints it. Runs nothing.',
      inputSchema: {
        type: 'object',
        properties: statementProperties(listed),
        required: requiredWith(listed, 'sql'),
        additionalProperties: false,
      },
      outputSchema: { type: 'object', properties: ROWS_SCHEMA, required: Object.keys(ROWS_SCHEMA) },
      ...readsDatabase({ connections: listed, queryTimeoutMs }),
    },
    async run(input, signal) {
      const args = readToolArguments(input, ['connection', 'sql', 'params']);
      const { name: connection } = readConnection(args, connections.list());
      const statement = readStatement(args, input);
      return rowsOn(options, { connection, signal }, (database, run) => database.explain(statement, run));
    },
  };
}
