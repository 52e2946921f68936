import type { Connect } from '../connection.ts';
import { openConnection } from '../protocol/open-connection.ts';
import type { RemoteAddress } from './connect-ws.ts';
import { SESSION_LOST } from './http-failure.ts';
import type { HttpPool } from './http-pool.ts';

/** Connects to a remote server over HTTP+SSE of 2024-11-05. */
export function connectSse({ url: address, headers, maxMessageBytes }: RemoteAddress, pool: HttpPool): Connect {
  return async function connectSse(options) {
    const { server, signal, known = 'legacy', timeoutMs, credential } = options;
    const url = new URL(address);
    const [{ SseClientTransport }, dispatcher] = await Promise.all([import('./sse-transport.ts'), pool.agent(url)]);
    const transport = new SseClientTransport({
      server,
      url,
      dispatcher,
      headers,
      credential,
      signal,
      endpointMs: timeoutMs,
      maxMessageBytes,
    });
    const onLegacyVersion = (version: string) => transport.setProtocolVersion(version);
    // This transport exists only in the legacy era, so no probe is needed.
    return openConnection({
      ...options,
      known,
      transport,
      onLegacyVersion,
      stderrTail: () => transport.closeReason(),
      hasLostSession: () => transport.closeReason() === SESSION_LOST,
    });
  };
}
