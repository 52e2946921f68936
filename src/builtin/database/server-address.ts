import { isDatabaseHost, readDatabaseUrl } from '../../core/text/database-url.ts';
import type { ConnectionOptions } from './database.ts';
import { DatabaseFailure } from './database-failure.ts';

/** The address and the credentials of a database server. */
export interface ServerAddress {
  readonly host: string;
  readonly port?: number;
  readonly database?: string;
  readonly username?: string;
  readonly password?: string;
  readonly ssl: boolean;
}

const TEXTS = ['database', 'username', 'password'] as const;

/** Reads the address of a connection from its URL or its single fields. Throws a `DatabaseFailure` for another one. */
export function readServerAddress(connection: ConnectionOptions): ServerAddress {
  const { url, host, port, database, username, password, ssl } = connection;
  if (url !== undefined) {
    const read = readDatabaseUrl(url);
    if ('problem' in read) throw unusable(connection, `its URL ${read.problem}`);
    if (ssl !== undefined && ssl !== (read.address.ssl ?? ssl)) {
      throw unusable(connection, 'its URL and its setting "ssl" contradict each other');
    }
    return { ...read.address, ssl: ssl ?? read.address.ssl ?? false };
  }
  if (host === undefined || !isDatabaseHost(host)) throw unusable(connection, 'its host is no name or address');
  // A NUL would begin another parameter in the protocol of Postgres.
  if (TEXTS.some((name) => /\p{Cc}/u.test(connection[name] ?? ''))) {
    throw unusable(connection, 'its user, password or database contains control characters');
  }
  return {
    host,
    ...(port !== undefined && { port }),
    ...(database !== undefined && { database }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ssl: ssl ?? false,
  };
}

/** Returns the failure of a connection whose settings cannot be used. */
export const unusable = ({ name }: ConnectionOptions, reason: string): DatabaseFailure =>
  new DatabaseFailure('CONNECTION_FAILED', `The connection "${name}" cannot be used: ${reason}. Correct its settings.`);
