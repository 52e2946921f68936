import type { RemoteEntry } from '../../config/schema/schema.ts';
import type { Connect } from '../connection.ts';
import { openConnection } from '../protocol/open-connection.ts';
import type { HttpPool } from './http-pool.ts';

/** Speaks MCP to a remote server over Streamable HTTP, in either era. */
export function connectHttp(entry: RemoteEntry, pool: HttpPool): Connect {
  return async function connectHttp(options) {
    const url = new URL(entry.url);
    // Loaded on first use: a Heddle without remote servers need not pay for it.
    const [{ HttpClientTransport }, dispatcher] = await Promise.all([import('./http-transport.ts'), pool.agent(url)]);
    const { headers, maxMessageBytes } = entry;
    const line = new HttpClientTransport({ server: options.server, url, dispatcher, headers, maxMessageBytes });
    const onLegacyVersion = (version: string) => line.setProtocolVersion(version);
    return openConnection({ ...options, transport: line, onLegacyVersion, stderrTail: () => line.closeReason() });
  };
}
