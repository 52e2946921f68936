import type { RemoteEntry } from '../../config/schema/schema.ts';
import type { Connect } from '../connection.ts';
import { openConnection } from '../protocol/open-connection.ts';

/** The fields of a remote entry that every transport uses. */
export type RemoteAddress = Pick<RemoteEntry, 'url' | 'headers' | 'maxMessageBytes'>;

/** Connects to a remote server over a WebSocket. */
export function connectWs({ url, headers, maxMessageBytes }: RemoteAddress): Connect {
  return async function connectWs(options) {
    const { server, signal, timeoutMs, credential } = options;
    // Loaded on first use, because few configurations have such a server.
    const { WsClientTransport } = await import('./ws-transport.ts');
    const transport = new WsClientTransport({
      server,
      url: new URL(url),
      headers,
      credential,
      signal,
      upgradeMs: timeoutMs,
      maxMessageBytes,
    });
    return openConnection({ ...options, transport, stderrTail: () => transport.closeReason() });
  };
}
