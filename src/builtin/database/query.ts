import { readToolArguments } from '../read-arguments.ts';
import type { BuiltinTool } from '../serve-tools.ts';
import type { ConnectionOptions } from './database.ts';
import { readsDatabase } from './facts.ts';
import { readConnection, readStatement, requiredWith, statementProperties } from './read-statement.ts';
import { MAX_RESULT_BYTES, ROWS_SCHEMA, rowsOn, type ToolOptions } from './run-on.ts';

/** The tool `db_query`. */
export function queryTool(options: ToolOptions): BuiltinTool {
  const { connections, maxRows: most } = options;
  return {
    definition: definition(options),
    async run(input, signal) {
      const args = readToolArguments(input, ['connection', 'sql', 'params', 'maxRows']);
      const { name: connection } = readConnection(args, connections.list());
      const statement = readStatement(args, input);
      const maxRows = args.integer('maxRows', { min: 1, max: most }) ?? most;
      return rowsOn(options, { connection, maxRows, signal }, (database, run) => database.query(statement, run));
    },
  };
}

function definition({ connections, queryTimeoutMs, maxRows }: ToolOptions): BuiltinTool['definition'] {
  const listed = connections.list();
  const properties = {
    ...statementProperties(listed),
    maxRows: {
      type: 'integer',
      minimum: 1,
      maximum: maxRows,
      default: maxRows,
      description: 'The most rows to return.',
    },
  };
  return {
    name: 'db_query',
    title: 'Query a database',
    description:
      `Runs one read-only statement: ${verbsOf(listed)}. ` +
      `Returns at most ${maxRows} rows and ${MAX_RESULT_BYTES} bytes. Numbers that JSON cannot hold are text, bytes are base64.`,
    inputSchema: { type: 'object', properties, required: requiredWith(listed, 'sql'), additionalProperties: false },
    outputSchema: { type: 'object', properties: ROWS_SCHEMA, required: Object.keys(ROWS_SCHEMA) },
    ...readsDatabase({ connections: listed, queryTimeoutMs }),
  };
}

const READING_VERBS = ['SELECT', 'WITH', 'VALUES', 'TABLE', 'SHOW', 'DESCRIBE', 'PRAGMA', 'EXPLAIN'];

const ABSENT_VERBS: Readonly<Record<ConnectionOptions['type'], readonly string[]>> = {
  sqlite: ['TABLE', 'SHOW', 'DESCRIBE'],
  postgres: ['DESCRIBE', 'PRAGMA'],
  mysql: ['PRAGMA'],
};

/** Lists the statements that at least one of the databases has. */
function verbsOf(connections: readonly ConnectionOptions[]): string {
  const verbs = READING_VERBS.filter((verb) => connections.some(({ type }) => !ABSENT_VERBS[type].includes(verb)));
  return `${verbs.slice(0, -1).join(', ')} or ${verbs.at(-1)}`;
}
