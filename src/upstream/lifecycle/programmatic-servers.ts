import type { ServerConfig } from '../../config/config.ts';
import { TREATMENT_DEFAULTS } from '../../config/schema/defaults.ts';
import type { JsonObject } from '../../core/call.ts';
import { bridgeTo, type TransportServer } from '../transports/bridge-transport.ts';
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
export type ServersOption = Readonly<Record<string, JsonObject | ProgramServer>>;

/** A server that no entry can describe: one in this process, or one behind a transport of the program. */
export type ProgramServer = InProcessServer | TransportServer;

/** Returns the functions that connect the servers of a program, by name. */
export function inProcessOf(servers: ServersOption): Map<string, Serve> {
  const inProcess = new Map<string, Serve>();
  for (const [name, server] of Object.entries(servers)) {
    if (!isOfProgram(server)) continue;
    // Called as a method: `connect` of an SDK server needs its `this`.
    inProcess.set(name, 'connect' in server ? (transport) => server.connect(transport) : bridgeTo(name, server));
  }
  return inProcess;
}

export async function toServerConfigs(
  servers: ServersOption,
  scope: 'sdk' | 'command' | 'dynamic',
): Promise<readonly ServerConfig[]> {
  const configs = Object.entries(servers).map(async ([name, server]) => {
    if (isOfProgram(server)) return [inProcessServer(name, name, 'sdk')];
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

const isOfProgram = (server: JsonObject | ProgramServer): server is ProgramServer =>
  ['connect', 'transport'].some((name) => typeof (server as Readonly<Record<string, unknown>>)[name] === 'function');
