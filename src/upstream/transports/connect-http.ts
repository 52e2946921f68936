import type { RemoteEntry } from '../../config/schema/schema.ts';
import type { Connect } from '../connection.ts';
import { openConnection } from '../protocol/open-connection.ts';
import type { HttpPool } from './http-pool.ts';

/** Connects to a remote server over Streamable HTTP, in either era. */
export function connectHttp(entry: RemoteEntry, pool: HttpPool): Connect {
  return async function connectHttp(options) {
    const url = new URL(entry.url);
    // Loaded on first use, so that a Heddle without remote servers starts faster.
    const [{ HttpClientTransport }, dispatcher] = await Promise.all([import('./http-transport.ts'), pool.agent(url)]);
    const { headers, maxMessageBytes } = entry;
    const transport = new HttpClientTransport({ server: options.server, url, dispatcher, headers, maxMessageBytes });
    const onLegacyVersion = (version: string) => transport.setProtocolVersion(version);
    return openConnection({ ...options, transport, onLegacyVersion, stderrTail: () => transport.closeReason() });
  };
}
