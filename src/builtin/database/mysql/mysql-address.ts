import type { ConnectionOptions } from '../database.ts';
import { readServerAddress } from '../server-address.ts';

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
  const { host, port = PORT, username: user, password, database, ssl } = readServerAddress(connection);
  return { host, port, user, password, database, ssl };
}
