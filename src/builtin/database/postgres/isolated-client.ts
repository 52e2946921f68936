import type { Socket } from 'node:net';
import type { Client, ClientConfig } from 'pg';
import type { ConnectionOptions } from '../database.ts';
import { readServerAddress, unusable } from '../server-address.ts';

const PORT = 5432;
const CONNECT_MS = 10_000;

/** The parts of a client of `pg` that its types leave out. */
interface ClientParts {
  readonly connectionParameters: { options?: string | undefined; replication?: string | undefined };
  readonly connection: { readonly stream: Socket; on(event: 'error', listener: () => void): void };
}

/**
 * Returns a class of clients that know the configured address only. The driver itself would complete it from PGPASSWORD
 * and other variables, from `~/.pgpass` and from parameters of a URL, and send that to any configured host.
 */
export function isolatedClient(driverClient: typeof Client, options: ConnectionOptions): typeof Client {
  const config = clientConfig(options);
  class IsolatedClient extends driverClient {
    constructor(_poolOptions?: string | ClientConfig) {
      super(config);
      const { connectionParameters, connection } = this as unknown as ClientParts;
      // No value of the configuration stops the driver from reading PGOPTIONS and PGREPLICATION.
      connectionParameters.options = undefined;
      connectionParameters.replication = undefined;
      // The driver leaves the socket open when the sign-in fails on this side.
      connection.on('error', () => connection.stream.destroy());
    }
  }
  return IsolatedClient;
}

function clientConfig(options: ConnectionOptions): ClientConfig {
  const { host, port = PORT, username, database = username, password, ssl } = readServerAddress(options);
  if (username === undefined) throw unusable(options, 'it names no user');
  const more = { client_encoding: 'utf8', sslnegotiation: 'postgres' } as const;
  return {
    ...more,
    ...{ host, port, user: username, ssl, application_name: 'heddle' },
    ...(database !== undefined && { database }),
    // A function, also without a password: otherwise the driver looks for one.
    password() {
      if (password !== undefined) return password;
      throw Object.assign(new Error('There is no password.'), { code: 'PASSWORD_MISSING' });
    },
    // A pool's own timeout would also count the wait for a free connection, which the deadline of each call bounds.
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  };
}
