import type { ConnectionOptions } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';

/** The address and the credentials of a server. */
export interface MysqlAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly ssl: boolean;
}

const PORT = 3306;

/** Reads the address of a connection from its URL or its single fields. */
export function readMysqlAddress(connection: ConnectionOptions): MysqlAddress {
  const { url, ssl = false } = connection;
  if (url === undefined) {
    const { host = 'localhost', port = PORT, username: user, password, database } = connection;
    return { host, port, user, password, database, ssl };
  }
  const parts = URL.canParse(url) ? new URL(url) : undefined;
  if (!parts || !/^(?:mysql|mariadb):$/.test(parts.protocol)) {
    throw unusable(connection, 'its URL is none of the form mysql://user:password@host:port/database');
  }
  // The driver would take any of its options from here, also several statements in one call.
  const unknown = [...parts.searchParams.keys()].find((name) => name !== 'ssl');
  if (unknown !== undefined)
    throw unusable(connection, `its URL has the option ${JSON.stringify(unknown.slice(0, 40))}`);
  return {
    host: decode(parts.hostname.replace(/^\[(.*)\]$/, '$1')) ?? 'localhost',
    port: parts.port === '' ? PORT : Number(parts.port),
    user: decode(parts.username),
    password: decode(parts.password),
    database: decode(parts.pathname.slice(1)),
    ssl: ssl || parts.searchParams.get('ssl') === 'true',
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text) || undefined;
  } catch {
    return text;
  }
}

const unusable = ({ name }: ConnectionOptions, reason: string): DatabaseFailure =>
  new DatabaseFailure('CONNECTION_FAILED', `The connection "${name}" cannot be used: ${reason}. Correct its settings.`);
