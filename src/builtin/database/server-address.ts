import { DATABASE_SCHEMES, isDatabaseHost, readDatabaseUrl } from '../../core/text/database-url.ts';
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
  const { type, url, ssl } = connection;
  if (url === undefined) return addressOfFields(connection);
  if (type === 'sqlite' || !DATABASE_SCHEMES[type].test(url))
    throw unusable(connection, `its URL is no ${type}:// URL`);
  const read = readDatabaseUrl(url);
  if ('problem' in read) throw unusable(connection, `its URL ${read.problem}`);
  const { address } = read;
  if (ssl !== undefined && ssl !== (address.ssl ?? ssl)) {
    throw unusable(connection, 'its URL and its setting "ssl" contradict each other');
  }
  return { ...address, ssl: ssl ?? address.ssl ?? false };
}

function addressOfFields(connection: ConnectionOptions): ServerAddress {
  const { host, port, ssl = false } = connection;
  if (host === undefined || !isDatabaseHost(host)) throw unusable(connection, 'its host is no name or address');
  const named = TEXTS.map((name) => [name, connection[name]] as const).filter(([, text]) => text !== undefined);
  // A NUL would begin another parameter in the protocol of Postgres.
  if (named.some(([, text = '']) => /\p{Cc}/u.test(text))) {
    throw unusable(connection, 'its user, password or database contains control characters');
  }
  return { host, ...(port !== undefined && { port }), ...Object.fromEntries(named), ssl };
}

/** Returns the failure of a connection whose settings cannot be used. */
export const unusable = ({ name }: ConnectionOptions, reason: string): DatabaseFailure =>
  new DatabaseFailure('CONNECTION_FAILED', `The connection "${name}" cannot be used: ${reason}. Correct its settings.`);
