import type { JsonObject } from '../core/call.ts';
import type { ServerStatus } from '../core/records/server-status.ts';
import { unknownServer } from '../core/records/unknown-server.ts';
import type { Heddle, LocalServer } from '../heddle.ts';
import { checkOptions, SIGNAL_KEYS, type SignalOptions } from './check-options.ts';
import { PROGRAM } from './program.ts';

/** The servers of a Heddle, for a program in the role of the owner. `Local` is the type of its own servers. */
export interface ServerApi<Local extends LocalServer = LocalServer> {
  list(): Promise<readonly ServerStatus[]>;
  /** Returns the status of one server. Throws NAME_UNKNOWN. */
  get(name: string): Promise<ServerStatus>;
  /** Connects a server. A failed connection is a status, not an exception. */
  connect(name: string, options?: SignalOptions): Promise<ServerStatus>;
  /**
   * Closes the connections to a server after their calls in flight, and ends its process. The server stays registered: the
   * next call connects it. Throws NAME_UNKNOWN.
   */
  disconnect(name: string): Promise<ServerStatus>;
  /** Sends a notification to a server, and connects it first. Throws INPUT_INVALID for a method of MCP itself. */
  notify(
    name: string,
    notification: { readonly method: string; readonly params?: JsonObject },
    options?: SignalOptions,
  ): Promise<void>;
  /** Notifies connected legacy servers that `onRoots` returns other roots now. The modern era has no such notification. */
  rootsChanged(): void;
  /**
   * Adds a server at run time: an entry as in `mcpServers`, taken literally, an in-process server, or a transport.
   * It survives changes of files, and wins over one of the same name in them.
   * Throws NAME_TAKEN, CONFIG_INVALID or SERVER_BLOCKED.
   *
   * @example
   * await heddle.servers.register('clock', new McpServer({ name: 'clock', version: '1.0.0' }));
   */
  register(name: string, server: JsonObject | Local): Promise<ServerStatus>;
  /** Replaces a registered server. Calls in flight end on the connection they began with. */
  update(name: string, server: JsonObject | Local): Promise<ServerStatus>;
  /** Removes a registered server after its calls in flight have ended. */
  unregister(name: string): Promise<void>;
}

const never = (): AbortSignal => new AbortController().signal;

/** Returns the servers for the embedding program. */
export function serverApi({ servers }: Pick<Heddle, 'servers'>): ServerApi {
  return {
    list: () => servers.list(PROGRAM),
    async get(name) {
      const all = await servers.list(PROGRAM);
      const found = all.find((one) => one.name === name);
      if (found) return found;
      throw unknownServer(
        String(name),
        all.map((one) => one.name),
      );
    },
    async connect(name, options) {
      const { signal = never() } = checkOptions('servers.connect', options, SIGNAL_KEYS);
      return servers.connect(PROGRAM, name, signal);
    },
    disconnect: (name) => servers.disconnect(PROGRAM, name),
    async notify(name, { method, params = {} }, options) {
      const { signal } = checkOptions('servers.notify', options, SIGNAL_KEYS);
      return servers.notify(PROGRAM, name, { method, params, signal });
    },
    rootsChanged: () => servers.rootsChanged(PROGRAM),
    register: (name, server) => servers.register(PROGRAM, name, server),
    update: (name, server) => servers.update(PROGRAM, name, server),
    unregister: (name) => servers.unregister(PROGRAM, name),
  };
}
