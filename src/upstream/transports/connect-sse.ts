import type { Connect } from '../connection.ts';
import { openConnection } from '../protocol/open-connection.ts';
import type { RemoteAddress } from './connect-ws.ts';
import type { HttpPool } from './http-pool.ts';

/** Speaks MCP to a remote server over HTTP+SSE, as the protocol had it in 2024. */
export function connectSse({ url: address, headers, maxMessageBytes }: RemoteAddress, pool: HttpPool): Connect {
  return async function connectSse(options) {
    const { server, signal, known = 'legacy', timeoutMs } = options;
    const url = new URL(address);
    const [{ SseClientTransport }, dispatcher] = await Promise.all([import('./sse-transport.ts'), pool.agent(url)]);
    const line = new SseClientTransport({
      server,
      url,
      dispatcher,
      headers,
      signal,
      endpointMs: timeoutMs,
      maxMessageBytes,
    });
    const onLegacyVersion = (version: string) => line.setProtocolVersion(version);
    // The transport is older than discovery: there is nothing to find out.
    return openConnection({
      ...options,
      known,
      transport: line,
      onLegacyVersion,
      stderrTail: () => line.closeReason(),
    });
  };
}
