import type { RemoteEntry } from '../config/schema.ts';
import { HeddleError } from '../core/errors.ts';
import type { Connect, Connection } from './connection.ts';
import type { HttpPool } from './http-pool.ts';
import { openConnection } from './open-connection.ts';

/** Speaks MCP to a remote server over Streamable HTTP, in either era. */
export function connectHttp(entry: RemoteEntry, pool: HttpPool): Connect {
  return async function connectHttp(options) {
    const url = new URL(entry.url);
    // Loaded on first use: a Heddle without remote servers need not pay for it.
    const [{ HttpLine }, dispatcher] = await Promise.all([import('./http-line.ts'), pool.agent(url)]);
    const line = new HttpLine({ server: options.server, url, dispatcher, headers: entry.headers });
    const onLegacyVersion = (version: string) => line.setProtocolVersion(version);
    const connection = await openConnection({ ...options, line, onLegacyVersion, lastWords: () => line.ending() });
    return { ...connection, send: (call) => sendOrClose(connection, call) };
  };
}

/** A lost session is told only when the line is closed: whoever then tries again gets another line. */
async function sendOrClose(connection: Connection, call: Parameters<Connection['send']>[0]) {
  try {
    return await connection.send(call);
  } catch (thrown) {
    if (HeddleError.is(thrown) && thrown.details.sessionGone === true) await connection.closed;
    throw thrown;
  }
}
