import { cutAndEscapeBreaks } from '../../../core/text/cut-text.ts';
import { DatabaseFailure } from '../database-failure.ts';
import type { MysqlAddress } from './mysql-address.ts';

const MAX_MESSAGE_CHARS = 1000;
const MAX_SEARCHED_CHARS = 16_384;

/** An error of the driver. Errors of the server have `errno` and `sqlMessage`. */
interface DriverError {
  readonly code?: string;
  readonly errno?: number;
  readonly sqlMessage?: string;
  readonly fatal?: boolean;
}

/** Numbers of errors with which a server ends the connection. */
const ENDS_CONNECTION = new Set([1053, 1077, 1152, 1158, 1159, 1160, 1161, 1927, 4031]);
/** Numbers of errors with which a server ends a statement at a limit of time, or at KILL QUERY. */
const ENDS_STATEMENT = new Set([1317, 1969, 3024]);

/** Returns true if the server answered the statement with an error, and the connection is still usable. */
export const isMysqlAnswer = (error: unknown): error is Required<Pick<DriverError, 'errno' | 'sqlMessage'>> => {
  const { errno, sqlMessage, fatal } = error as DriverError;
  return typeof errno === 'number' && typeof sqlMessage === 'string' && !fatal && !ENDS_CONNECTION.has(errno);
};

export const mysqlErrorNumber = (error: unknown): number | undefined => (error as DriverError | undefined)?.errno;

// By code, never by text: the texts of server and socket name addresses and users.
const CONNECT_REASONS: readonly (readonly [string | number, string])[] = [
  [1045, 'the database rejects user or password. Correct them'],
  [1698, 'the database rejects the sign-in of this user. Correct the user'],
  [1044, 'the user may not use this database. Grant it, or correct the name'],
  [1049, 'there is no such database. Correct its name'],
  [1040, 'the database has no free connection. Raise its limit or try later'],
  [1203, 'the user has no free connection. Raise its limit or try later'],
  [1129, 'the database blocks this host. Flush its hosts'],
  [1130, 'the database accepts no connections from this host. Grant them'],
  ['ECONNREFUSED', 'no database listens at the address. Start it, or correct host and port'],
  ['ENOTFOUND', 'the name of the host cannot be resolved. Correct it'],
  ['EAI_AGAIN', 'the name of the host cannot be resolved. Correct it'],
  ['ETIMEDOUT', 'the host does not answer. Check the network'],
  ['EHOSTUNREACH', 'the host does not answer. Check the network'],
  ['HANDSHAKE_NO_SSL_SUPPORT', 'the database does not offer TLS. Correct the setting ssl'],
  ['HANDSHAKE_SSL_ERROR', 'the certificate of the database is not trusted. Correct it, or the setting ssl'],
  ['AUTH_SWITCH_PLUGIN_ERROR', 'the database asks for a sign-in that the driver does not have. Change the user'],
];
const UNREACHABLE = 'the database cannot be reached or ended the connection. Check that it runs, then try again';

/** Explains why a connection cannot be opened or was lost. The message has no address, user or password. */
export function explainMysqlLoss(cause: unknown, connection: string): DatabaseFailure {
  if (cause instanceof DatabaseFailure) return cause;
  const { code, errno } = cause as DriverError;
  const reason = CONNECT_REASONS.find(([known]) => known === code || known === errno)?.[1] ?? UNREACHABLE;
  return new DatabaseFailure('CONNECTION_FAILED', `The connection "${connection}" failed: ${reason}.`, { cause });
}

/** Explains the error with which the server answered a statement. */
export function explainMysqlAnswer(cause: unknown, address: MysqlAddress): DatabaseFailure {
  const { errno = 0, sqlMessage = '' } = cause as DriverError;
  if (ENDS_STATEMENT.has(errno)) {
    const text = 'The statement took longer than permitted, and the database ended it. Make it smaller.';
    return new DatabaseFailure('TIMED_OUT', text, { cause });
  }
  const message = cutAndEscapeBreaks(
    withoutMysqlNames(sqlMessage.slice(0, MAX_SEARCHED_CHARS), address),
    MAX_MESSAGE_CHARS,
  );
  return new DatabaseFailure('STATEMENT_FAILED', `The database reports: ${message}`, { cause });
}

const ACCOUNT = /(['`])[^'`]*\1@(['`])[^'`]*\2/g;

/** Replaces accounts, and the host and password of the address, in a message of the server. */
function withoutMysqlNames(message: string, { host, password }: MysqlAddress): string {
  const hidden = [password, host].filter((text) => text !== undefined && text.length > 3) as string[];
  return hidden.reduce(
    (text, secret) => text.replaceAll(secret, '…'),
    message.replace(ACCOUNT, "this connection's user"),
  );
}
