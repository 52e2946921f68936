import type { DatabaseError } from 'pg';
import { cutAndEscapeBreaks } from '../../../core/text/cut-text.ts';
import type { ConnectionOptions } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';
import { readServerAddress } from '../server-address.ts';
import { describeCharacter } from './statements/refusal.ts';

const MAX_MESSAGE_CHARS = 1_000;
const MAX_SEARCHED_CHARS = 16_384;

/** An error that the server sent. Other errors are those of the socket and of the driver. */
export const isServerError = (error: unknown): error is DatabaseError =>
  error instanceof Error && typeof (error as DatabaseError).severity === 'string';

/** Returns true if the server has ended the connection with this error, or refuses to serve it. */
const endsConnection = (code: string | undefined): boolean => code !== undefined && /^(57P|08|53300)/.test(code);

/** Returns true if the statement reached a live connection, which answered. */
export const isStatementError = (error: unknown): error is DatabaseError =>
  isServerError(error) && !endsConnection(error.code);

// By code, never by text: the texts of the server and of the socket name addresses and users.
const CONNECT_REASONS: readonly (readonly [RegExp, string])[] = [
  [/^PASSWORD_MISSING$/, 'the database asks for a password, and none is set. Set one'],
  [/^28P01$/, 'the database rejects the password. Correct it'],
  [/^28/, 'the database rejects the sign-in. Correct user, password or its pg_hba.conf'],
  [/^3D000$/, 'there is no such database. Correct its name'],
  [/^53300$/, 'the database has no free connection. Raise its limit or try later'],
  [/^57P/, 'the database is starting, stopping or restarting. Try again'],
  [/^ECONNREFUSED$/, 'no database listens at the address. Start it, or correct host and port'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the name of the host cannot be resolved. Correct it'],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/, 'the host does not answer. Check the network'],
  [/CERT|SELF_SIGNED|TLS|SSL/, 'the certificate of the database is not trusted. Correct it, or the setting ssl'],
];

/** Explains why a connection cannot be opened. The message has no address, user or password. */
export function explainConnectError(cause: unknown, connection: string): DatabaseFailure {
  const { code = '', message = '' } = cause as { readonly code?: string; readonly message?: string };
  const known = CONNECT_REASONS.find(([pattern]) => pattern.test(code))?.[1];
  const isPlain = /SSL/.test(message)
    ? 'the database does not offer TLS as configured. Correct the setting ssl'
    : undefined;
  const reason = known ?? isPlain ?? 'the database cannot be reached. Check that it runs and the settings are right';
  return new DatabaseFailure('CONNECTION_FAILED', `The connection "${connection}" failed: ${reason}.`);
}

/** The text that was sent: the statement of the caller behind a prefix of Heddle. */
export interface SentText {
  readonly prefix: string;
  readonly sql: string;
}

/** Explains an error of a statement: the message of the database and its position. */
export function explainStatementError(
  error: DatabaseError,
  { prefix, sql }: SentText,
  connection: ConnectionOptions,
): DatabaseFailure {
  // Counted in code points from 1.
  const position = Number(error.position) - prefix.length;
  const characters = [...sql].slice(0, position - 1).join('').length;
  const place = position > 0 ? ` (${describeCharacter(sql, characters)})` : '';
  const message = cutAndEscapeBreaks(
    withoutNames(error.message.slice(0, MAX_SEARCHED_CHARS), connection),
    MAX_MESSAGE_CHARS,
  );
  return new DatabaseFailure('STATEMENT_FAILED', `The database reports: ${message}${place}.`);
}

/** Replaces the parts of the configured address in a message of the server. */
function withoutNames(message: string, connection: ConnectionOptions): string {
  const { host, database, username, password } = readServerAddress(connection);
  const hidden = [password, host].filter((text) => text !== undefined && text.length > 3) as string[];
  const plain = hidden.reduce((text, secret) => text.replaceAll(secret, '…'), message);
  return [username, database]
    .filter((name) => name !== undefined && name !== '')
    .reduce<string>(
      (text, name) =>
        text.replace(new RegExp(`\\b(user|role|database) ("?)${escaped(name as string)}\\2(?!\\w)`, 'g'), '$1 $2…$2'),
      plain,
    );
}

const escaped = (name: string): string => name.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
