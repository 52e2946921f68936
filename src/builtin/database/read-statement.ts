import type { Json, JsonObject } from '../../core/call.ts';
import type { Arguments } from '../read-arguments.ts';
import { unknownConnection } from './connections.ts';
import type { ConnectionOptions, Statement } from './database.ts';
import { DatabaseFailure } from './database-failure.ts';

const MAX_SQL_BYTES = 100 * 1024;
const MAX_PARAMS = 10_000;

/** Returns the schema of the arguments that choose a connection and give a statement. */
export function statementProperties(connections: readonly ConnectionOptions[]): JsonObject {
  return {
    ...connectionProperty(connections),
    sql: {
      type: 'string',
      minLength: 1,
      description: `One statement, at most ${MAX_SQL_BYTES} bytes. Placeholders: ${placeholdersOf(connections)}.`,
    },
    params: {
      type: 'array',
      maxItems: MAX_PARAMS,
      default: [],
      description: 'Values of the placeholders, in order. An array or object is sent as JSON text.',
    },
  };
}

const PLACEHOLDERS = { postgres: '$1, $2', mysql: '?', sqlite: '?' } as const;

function placeholdersOf(connections: readonly ConnectionOptions[]): string {
  const kinds = new Map(connections.map(({ type }) => [type, PLACEHOLDERS[type]]));
  if (new Set(kinds.values()).size === 1) return `${[...kinds.values()][0]}`;
  return [...kinds].map(([type, placeholder]) => `${placeholder} (${type})`).join('; ');
}

/** Returns the schema of the argument `connection`. It may be absent if there is only one. */
export function connectionProperty(connections: readonly ConnectionOptions[]): JsonObject {
  const names = connections.map(({ name }) => name);
  const [only] = names.length === 1 ? names : [];
  const described = connections.map(({ name, type }) => `${name} (${type})`).join(', ');
  return {
    connection: {
      type: 'string',
      enum: names,
      ...(only !== undefined && { default: only }),
      description: `The database: ${described}.`,
    },
  };
}

/** Lists the arguments that a call must have, `connection` only if there is a choice. */
export const requiredWith = (connections: readonly ConnectionOptions[], ...others: readonly string[]) => [
  ...(connections.length > 1 ? ['connection'] : []),
  ...others,
];

/** Returns the connection that a call names, or the only one. */
export function readConnection(args: Arguments, connections: readonly ConnectionOptions[]): ConnectionOptions {
  const name = args.text('connection');
  const [only] = connections.length === 1 ? connections : [];
  const chosen = name === undefined ? only : connections.find((one) => one.name === name);
  if (chosen) return chosen;
  if (name !== undefined) throw unknownConnection(name, connections);
  const names = connections.map((one) => one.name).join(', ');
  throw new DatabaseFailure('INPUT_INVALID', `The argument "connection" is missing. Choose one of: ${names}.`);
}

/** Returns the statement of a call. Refuses text that no database accepts. */
export function readStatement(args: Arguments, input: JsonObject): Statement {
  const sql = args.text('sql');
  if (sql === undefined || sql.trim() === '') {
    throw invalid(`The argument "sql" is ${sql === undefined ? 'missing' : 'empty'}. Write one statement.`);
  }
  const bytes = Buffer.byteLength(sql);
  if (bytes > MAX_SQL_BYTES) {
    throw invalid(`The statement has ${bytes} bytes, and at most ${MAX_SQL_BYTES} are sent. Send values in "params".`);
  }
  if (sql.includes('\0')) throw invalid('The statement has a NUL character. Remove it.');
  requireWellFormed(sql, 'The statement');
  return { sql, params: readParams(input.params ?? []) };
}

function readParams(params: Json): readonly Json[] {
  if (!Array.isArray(params))
    throw invalid('The argument "params" has to be an array. Give one value per placeholder.');
  if (params.length > MAX_PARAMS) {
    throw invalid(`The argument "params" has ${params.length} values, and at most ${MAX_PARAMS} are sent. Send fewer.`);
  }
  return params.map((value: Json, at) => {
    if (typeof value === 'string') requireWellFormed(value, `The value ${at + 1} of "params"`);
    if (typeof value !== 'object' || value === null) return value;
    return JSON.stringify(value);
  });
}

/** Half a character would be sent as another one. */
function requireWellFormed(text: string, subject: string): void {
  if (!text.isWellFormed()) throw invalid(`${subject} has half a character (a lone surrogate). Correct it.`);
}

const invalid = (message: string) => new DatabaseFailure('INPUT_INVALID', message);
