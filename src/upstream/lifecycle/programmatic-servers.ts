import type { ServerConfig } from '../../config/config.ts';
import { TREATMENT_DEFAULTS } from '../../config/schema/defaults.ts';
import type { JsonObject } from '../../core/call.ts';
import type { Serve } from '../transports/connect-in-memory.ts';

/** A server in this process, for instance an `McpServer` of the TypeScript SDK. */
export interface InProcessServer {
  /** Receives the server's end of an in-memory transport. */
  connect(transport: InProcessTransport): Promise<void>;
}

/** The members of a transport that all SDK versions share, so that an SDK server needs no cast. */
export interface InProcessTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  start(): Promise<void>;
  send(message: never, options?: never): Promise<void>;
  close(): Promise<void>;
}

/** Servers that a program passes to `openHeddle`, by name. */
export type ServersOption = Readonly<Record<string, JsonObject | InProcessServer>>;

/** Returns the `connect` functions of the in-process servers, by name. */
export function inProcessOf(servers: ServersOption): Map<string, Serve> {
  const inProcess = new Map<string, Serve>();
  for (const [name, server] of Object.entries(servers)) {
    // Called as a method: `connect` of an SDK server needs its `this`.
    if (isInProcess(server)) inProcess.set(name, (transport) => server.connect(transport));
  }
  return inProcess;
}

export async function toServerConfigs(
  servers: ServersOption,
  scope: 'sdk' | 'command' | 'dynamic',
): Promise<readonly ServerConfig[]> {
  const configs = Object.entries(servers).map(async ([name, server]) => {
    if (isInProcess(server)) return [inProcessServer(name, name, 'sdk')];
    const { parseServers } = await import('../../config/read/parse-servers.ts');
    return parseServers(scope, { [name]: server });
  });
  return (await Promise.all(configs)).flat();
}

/** Returns the configuration of an in-process server. */
export const inProcessServer = (name: string, serves: string, scope: 'builtin' | 'sdk'): ServerConfig => ({
  name,
  scope,
  entry: { type: 'sdk', name: serves, ...TREATMENT_DEFAULTS },
  shadowed: [],
});

const isInProcess = (server: JsonObject | InProcessServer): server is InProcessServer =>
  typeof server.connect === 'function';
