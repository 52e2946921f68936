import type { RemoteEntry } from '../config/schema.ts';
import type { Connect } from './connection.ts';
import { openConnection } from './open-connection.ts';

/** Speaks MCP to a remote server over one WebSocket. */
export function connectWs({ url, headers }: Pick<RemoteEntry, 'url' | 'headers'>): Connect {
  return async function connectWs(options) {
    const { server, signal, timeoutMs } = options;
    // Loaded on first use: few have such a server.
    const { WsLine } = await import('./ws-line.ts');
    const line = new WsLine({ server, url: new URL(url), headers, signal, upgradeMs: timeoutMs });
    return openConnection({ ...options, line, lastWords: () => line.ending() });
  };
}
