import type { DatabaseSync } from 'node:sqlite';
import { DatabaseFailure } from '../database-failure.ts';
import type { Authorizer } from './authorizer.ts';
import { explainOpen, SideFileMissing } from './open-sqlite-file.ts';
import { type SqliteToken, sqliteTokens } from './sqlite-tokens.ts';

interface FailedStatement {
  readonly db: DatabaseSync;
  readonly sql: string;
  readonly guard: Authorizer;
}

/** The codes of SQLite that are explained; extended codes have the code in their lowest byte. */
const BUSY = 5;
const LOCKED = 6;
const OUT_OF_MEMORY = 7;
const READ_ONLY = 8;
const IO_ERROR = 10;
const FULL = 13;
const CANNOT_OPEN = 14;
const TOO_BIG = 18;
const CONSTRAINT = 19;
const NOT_A_DATABASE = 26;
const CORRUPT = 11;
/** A read-only connection would have to roll back or recover first. */
const UNRECOVERED: ReadonlySet<number> = new Set([264, 776, 1288, 1544]);

const codeOf = (thrown: unknown): number => (thrown as { errcode?: number } | undefined)?.errcode ?? -1;

/** Tests for changes of a killed writer that only a writable connection can undo or finish. */
export const isUnrecovered = (thrown: unknown): boolean =>
  thrown instanceof SideFileMissing || UNRECOVERED.has(codeOf(thrown));

/** Returns the failure of a statement, with the place of the refused or wrong word. */
export function explainSqlite(thrown: unknown, { db, sql, guard }: FailedStatement): unknown {
  if (thrown instanceof DatabaseFailure || isUnrecovered(thrown)) return thrown;
  const refusal = guard.refusal();
  if (refusal) {
    const at = placeOf(sql, refusal.word);
    return new DatabaseFailure('STATEMENT_REFUSED', `${refusal.construct}${at} is not permitted.`);
  }
  const message = (thrown as Error).message;
  const [, near] = /^near "(.*)": syntax error$/s.exec(message) ?? [];
  if (near !== undefined) return failed(`${message}${placeOfSyntaxError(db, sql, near)}`);
  const [, name] =
    /^(?:no such [a-z ]+|ambiguous column name|misuse of [a-z ]+(?: function)?): (.+?)(?:\(\))?$/.exec(message) ?? [];
  return name === undefined
    ? toSqliteFailure(thrown)
    : failed(`${message}${placeOf(sql, name.split('.').at(-1) ?? name)}`);
}

/** Returns the failure that SQLite reported. After COMMIT the transaction is still open, or has ended somehow. */
export function toSqliteFailure(thrown: unknown, afterCommit?: 'open' | 'ended'): DatabaseFailure {
  const explained = explainOpen(thrown);
  if (explained instanceof DatabaseFailure) return explained;
  const code = codeOf(thrown) & 0xff;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (afterCommit === 'ended' && code !== CONSTRAINT && code !== FULL) {
    const reason = `COMMIT failed (${message}), so the changes may have been kept or not. Read the rows to find out.`;
    return new DatabaseFailure('OUTCOME_UNKNOWN', reason);
  }
  if (UNRECOVERED.has(codeOf(thrown))) {
    return new DatabaseFailure(
      'CONNECTION_FAILED',
      'The database file cannot be used. A program that wrote it was ended and left changes in a side file ' +
        '("-journal", "-wal" or "-shm"). Open it once with a program that may write it.',
    );
  }
  return failed(EXPLAINED[code] ?? message);
}

const EXPLAINED: Readonly<Record<number, string>> = {
  [BUSY]: 'Another program holds a lock on the database. Try again later',
  [LOCKED]: 'Another program holds a lock on the database. Try again later',
  [OUT_OF_MEMORY]: 'The statement needs more memory than it may use. Narrow it, or aggregate in steps',
  [READ_ONLY]: 'The database file or its folder cannot be written. Give this process permission to write both',
  [IO_ERROR]: 'The database file could not be read or written (disk I/O error). Check the disk',
  [FULL]: 'The disk is full. Free some space and try again',
  [CANNOT_OPEN]: 'The database file or one of its side files cannot be opened. Check the permissions of its folder',
  [TOO_BIG]: 'A text or blob is longer than 16 MiB. Select a part of it',
  [NOT_A_DATABASE]: 'The file is not an SQLite database, or it is encrypted. Name another file',
  [CORRUPT]: 'The database file is damaged (database disk image is malformed). Restore it from a backup',
};

const failed = (message: string) => new DatabaseFailure('STATEMENT_FAILED', `${message}.`);

/** Returns the place of a word outside strings, in words; empty if the statement does not contain it. */
function placeOf(sql: string, word: string): string {
  const sought = word.toUpperCase();
  for (const token of sqliteTokens(sql)) if (nameOf(token) === sought) return ` at position ${token.at + 1}`;
  return '';
}

const nameOf = ({ kind, text }: SqliteToken): string | undefined => {
  if (kind === 'word') return text.toUpperCase();
  return kind === 'quoted' && !text.startsWith("'") ? text.slice(1, -1).toUpperCase() : undefined;
};

const MOST_CANDIDATES = 50;

/** SQLite fails at the first token that cannot follow: the shortest beginning with the same error ends with it. */
function placeOfSyntaxError(db: DatabaseSync, sql: string, near: string): string {
  let left = MOST_CANDIDATES;
  for (const { text, at } of sqliteTokens(sql)) {
    if (text !== near) continue;
    if (left-- === 0) return '';
    try {
      db.prepare(sql.slice(0, at + text.length));
    } catch (thrown) {
      if ((thrown as Error).message.startsWith('near ')) return ` at position ${at + 1}`;
    }
  }
  return '';
}
