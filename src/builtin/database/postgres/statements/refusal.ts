import { DatabaseFailure } from '../../database-failure.ts';

/** A byte offset in the UTF-8 text of a statement; undefined if unknown. */
export type Position = number | undefined;

/** The rules for a statement of one connection. */
export interface StatementRules {
  readonly sql: string;
  readonly connection: string;
  /** The access of this call: `plan` for `db_explain`, `write` for `db_execute`. */
  readonly access: 'read' | 'plan' | 'write';
  readonly allowDdl: boolean;
}

const READ = 'Send one SELECT, WITH, VALUES, TABLE, SHOW or EXPLAIN';
const PLAN = 'Send one SELECT, WITH, VALUES, TABLE, INSERT, UPDATE, DELETE or MERGE';
const WRITE = 'Send one INSERT, UPDATE, DELETE or MERGE';
const DDL = `${WRITE}, or one CREATE, ALTER, DROP, TRUNCATE or COMMENT of a table, index, view, sequence or type`;

/** Makes the failure for a construct that the check does not permit: construct, position, access, what to do. */
export function refusal(rules: StatementRules, construct: string, at: Position): DatabaseFailure {
  const place = at === undefined ? '' : ` (${describePosition(rules.sql, at)})`;
  const isDdl = rules.access === 'write' && rules.allowDdl;
  const fix = { read: READ, plan: PLAN, write: isDdl ? DDL : WRITE }[rules.access];
  return new DatabaseFailure(
    'STATEMENT_REFUSED',
    `${construct}${place} is not permitted for ${describeAccess(rules)}${isDdl ? ' with allowDdl' : ''} on the connection "${rules.connection}". ${fix}.`,
  );
}

/** Names the access of a call for a message. */
export const describeAccess = ({ access }: StatementRules): string =>
  ({ read: 'reading', plan: 'a plan', write: 'writing' })[access];

/** Converts a byte offset to line and column, both from 1. */
export function describePosition(sql: string, bytes: number): string {
  return describeCharacter(sql, Buffer.from(sql).subarray(0, bytes).toString().length);
}

/** Converts an offset in characters to line and column, both from 1. */
export function describeCharacter(sql: string, characters: number): string {
  const lines = sql.slice(0, characters).split('\n');
  return `line ${lines.length}, column ${[...(lines.at(-1) ?? '')].length + 1}`;
}
