import { abortable } from '../../core/async/abortable.ts';
import { capabilitiesKey, inputFlags } from '../../core/call/client-capabilities.ts';
import { type ConnectionUser, ownerOf, type PrivateUser } from '../../core/call/private-user.ts';
import type { Caller, ResolvedCall, Result } from '../../core/call.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { Clock, Timer } from '../../core/time.ts';
import type { Connection } from '../connection.ts';
import type { SuspendedCalls } from '../elicitation/suspended-calls.ts';
import { resumeSuspended } from '../protocol/resume-suspended.ts';
import { PrivateConnections } from './private/private-connections.ts';
import { type UserSignIns, userSignIns } from './private/user-sign-ins.ts';
import type { Server } from './server.ts';
import type { ServerCache } from './server-cache.ts';
import { type SoleUser, takesAnother } from './shared-connection.ts';
import type { Subscriptions } from './subscriptions.ts';

/** A subscription to a resource of a server, with the user of its connection. */
export interface Subscribed {
  readonly uri: string;
  /** The private user; undefined for the shared connection. */
  readonly user: ConnectionUser | undefined;
}

/** The user of a client that declares capabilities. */
export type UserWithCapabilities = Required<ConnectionUser>;

/** The connections of all servers, shared and private. A client uses one connection for everything it does. */
export interface ConnectionPool extends UserSignIns {
  /**
   * Opens the shared connection, or with per-user credentials that of the user. Settles when the tools are listed.
   * Throws NAME_UNKNOWN for a server that is not configured, or the error of the failed connect.
   */
  connect(name: string, signal: AbortSignal, user?: ConnectionUser): Promise<Connection>;
  /** Returns the connection of `connect`, if it is open. */
  connected(name: string, user?: ConnectionUser): Connection | undefined;
  /** Returns the open connection that this call may use. */
  ready(name: string, call: ConnectionUser): Connection | undefined;
  /** Returns the connection that this call may use; opens one when there is none. */
  connectionFor(name: string, call: ConnectionUser, signal: AbortSignal): Promise<Connection>;
  /** Continues a suspended call with the input responses of `call`. Throws INPUT_INVALID for an unknown ticket. */
  resume(call: ResolvedCall): Promise<Result>;
  /**
   * Returns the open connection that this call uses, if its reads may be cached: the shared one, or with per-user
   * credentials that of the caller.
   */
  cacheable(name: string, call: ConnectionUser): Connection | undefined;
  /** Tests whether each caller of a server has credentials, lists and connections of its own. */
  hasUserCredentials(name: string): boolean;
  /** Connects a server; returns whose private connection a call uses, or undefined for the shared one. */
  privateUserFor(name: string, call: ConnectionUser, signal: AbortSignal): Promise<PrivateUser | undefined>;
  /** Fetches the lists that a caller sees and that are known to have changed; undefined when there are none. */
  settleLists(name: string, user: ConnectionUser): Promise<void> | undefined;
  /** Subscribes on the connection that this user's calls use. Counts subscriptions and restores them after a reconnect. */
  subscribe(name: string, subscribed: Subscribed, signal: AbortSignal): Promise<void>;
  unsubscribe(name: string, subscribed: Subscribed, signal: AbortSignal): Promise<void>;
  /** Has a connected server list its tools to this user, unless they are known. Starts no server. */
  discoverTools(name: string, user: UserWithCapabilities, signal: AbortSignal): Promise<void>;
  /** Queues the same for several servers. Settles when each has listed its tools or failed to. */
  discoverToolsLater(names: readonly string[], user: UserWithCapabilities): Promise<void>;
  /** Tests whether a server has to be connected before the tools that this caller sees are known. */
  needsConnection(name: string, caller: Caller): boolean;
  /** Notifies the servers that the session of this caller has called: its roots have changed. Connects none. */
  rootsChanged(caller: Caller): void;
}

/** The pool as `openServers` sees it: with the upkeep of private connections. */
export interface OwnedConnectionPool extends ConnectionPool {
  privateCount(server: Server): number;
  /** Returns the status of a server as this caller sees it. */
  statusFor(server: Server, caller: Caller): ServerStatus;
  /** Opens the private connections that have subscriptions and were lost. */
  restoreSubscribed(server: Server): void;
  /** Closes private connections that have been idle too long. */
  sweep(): void;
  /** Ends all private connections of a server: at once, or after the calls in flight. */
  endPrivate(server: Server, how: 'close' | 'drain'): Promise<void>;
}

export interface ConnectionPoolOptions {
  readonly cache: ServerCache;
  readonly suspendedCalls: SuspendedCalls;
  readonly user: SoleUser | undefined;
  readonly clock: Clock;
  readonly timer: Timer;
  readonly find: (name: string) => Server | undefined;
  readonly all: () => Iterable<Server>;
  /** Uses a server, and its successor when a newer configuration replaced it meanwhile. */
  readonly using: <T>(name: string, signal: AbortSignal, use: (server: Server) => Promise<T>) => Promise<T>;
  /** Receives the name of a server when a private connection to it was opened. */
  readonly onOpened: (name: string) => void;
  /** Aborted when all servers close. */
  readonly closing: AbortSignal;
}

export function connectionPool(options: ConnectionPoolOptions): OwnedConnectionPool {
  const { cache, suspendedCalls, user: only, clock, timer, find, using, onOpened, closing } = options;
  const privates = new PrivateConnections({ clock, onOpened });

  /** Returns the shared connection if the user belongs there (`canUseSharedConnection`), else a private one. */
  function readyOn(server: Server, call: ConnectionUser): Connection | undefined {
    const shared = server.connection;
    if (server.privately.users) return privates.ready(server.privately, call);
    const isShared = !shared || (server.privately.usesShared(call) && takesAnother(shared, only));
    return isShared ? shared : privates.ready(server.privately, call);
  }

  const connectionFor: ConnectionPool['connectionFor'] = (name, call, signal) =>
    using(name, signal, async (server) => {
      if (server.privately.users) return privates.open(server.privately, call, signal);
      const shared = await server.connect(signal);
      const ready = readyOn(server, call);
      if (ready) return ready;
      return privates.open(server.privately, call, signal).catch((thrown) => {
        // A modern connection serves every client, if without requests during its calls.
        if (shared.agreement.era !== 'modern' || signal.aborted) throw thrown;
        return shared;
      });
    });

  const connect: ConnectionPool['connect'] = (name, signal, user) =>
    using(name, signal, async (server) => {
      const { privately } = server;
      if (!privately.users || !user) return server.connect(signal);
      const connection = await privates.ensureOpen(privately, user, signal);
      await abortable(privates.ensureFeed(privately, user)?.listed ?? Promise.resolve(), signal);
      return connection;
    });

  function connectedTo(server: Server | undefined, user: ConnectionUser | undefined): Connection | undefined {
    if (!server?.privately.users) return server?.connection;
    return user && privates.peek(server.privately, user);
  }

  return {
    connectionFor,
    connect,
    connected: (name, user) => connectedTo(find(name), user),
    hasUserCredentials: (name) => find(name)?.privately.users !== undefined,
    resume: (call) => resumeSuspended(suspendedCalls, call),
    ready(name, call) {
      const server = find(name);
      return server && readyOn(server, call);
    },
    cacheable(name, call) {
      const server = find(name);
      return server?.privately.users || server?.privately.usesShared(call) ? connectedTo(server, call) : undefined;
    },
    privateUserFor: (name, call, signal) =>
      using(name, signal, async (server) => {
        if (!server.privately.users) await server.connect(signal);
        if (!server.privately.usesShared(call)) await connectionFor(name, call, signal);
        return server.privately.usesShared(call) ? undefined : ownerOf(call);
      }),
    settleLists(name, user) {
      const server = find(name);
      if (server?.privately.usesShared(user)) return server.settleLists();
      return server && privates.ensureFeed(server.privately, user)?.settle();
    },
    rootsChanged: (caller) => announceRootsOf(caller, privates, options),
    ...subscribing({ find, using, connectionFor, privates }),
    ...toolDiscovery({ find, privates, cache, closing }),
    ...userSignIns({ find, open: (name, user, signal) => connect(name, signal, user), privates, timer, closing }),
    ...upkeepOf(privates, (name, user) => connectionFor(name, user, closing)),
    statusFor: (server, caller) => statusFor({ privates, cache }, server, caller),
  };
}

/** Notifies servers that the roots of a client have changed. A sole user's client uses the shared connections. */
function announceRootsOf(caller: Caller, privates: PrivateConnections, { user, all }: ConnectionPoolOptions): void {
  privates.rootsChanged(caller);
  if (caller.id !== user?.principal) return;
  for (const { connection } of all()) connection?.rootsChanged?.();
}

/** Returns the status of a server as this caller sees it. Its `tools` are absent unless those of the caller are known. */
function statusFor(
  { privates, cache }: { readonly privates: PrivateConnections; readonly cache: ServerCache },
  server: Server,
  caller: Caller,
): ServerStatus {
  const { privately, status, definitions } = server;
  if (privately.users) return privately.users.statusFor(status, caller, (user) => privates.peek(privately, user));
  const { capabilities } = caller;
  const isShared = !capabilities || server.privately.usesShared({ caller });
  const own = isShared ? undefined : definitions.capabilityLists.toolsFor(capabilities);
  if (own) return { ...status, tools: own.length };
  if (server.connection || cache.has(server.plan, listedSetOf(server, caller))) return status;
  const { tools: _, ...others } = status;
  return others;
}

/** Returns the capability set whose lists a caller sees. Extensions that the server does not have make no difference. */
function listedSetOf({ privately }: Server, caller: Caller): number {
  const { capabilities } = caller;
  const isPlain = !capabilities || (inputFlags(capabilities) === 0 && privately.usesShared({ caller }));
  return isPlain ? 0 : capabilitiesKey(capabilities);
}

interface SubscribingOptions extends Pick<ConnectionPoolOptions, 'find' | 'using'> {
  readonly connectionFor: ConnectionPool['connectionFor'];
  readonly privates: PrivateConnections;
}

/** Subscribes on the connections that calls use. */
function subscribing({
  find,
  using,
  connectionFor,
  privates,
}: SubscribingOptions): Pick<ConnectionPool, 'subscribe' | 'unsubscribe'> {
  return {
    subscribe: (name, { uri, user }, signal) =>
      using(name, signal, async (server) => {
        await (user ? connectionFor(name, user, signal) : server.connect(signal));
        if (user) privates.ensureFeed(server.privately, user);
        await subscriptionsOf(server, user).add(uri, signal);
      }),
    async unsubscribe(name, { uri, user }, signal) {
      const server = find(name);
      if (server) await subscriptionsOf(server, user).remove(uri, signal);
    },
  };
}

type Upkeep = Omit<OwnedConnectionPool, keyof ConnectionPool | 'statusFor'>;

/** Returns the upkeep of private connections. */
function upkeepOf(
  privates: PrivateConnections,
  open: (name: string, user: ConnectionUser) => Promise<unknown>,
): Upkeep {
  return {
    privateCount: (server) => privates.count(server.privately),
    restoreSubscribed({ name, privately, subscriptions }) {
      for (const user of subscriptions.wanted()) {
        if (!privates.ensureFeed(privately, user)) open(name, user).catch(() => {});
      }
    },
    sweep: () => privates.sweep(),
    endPrivate(server, how) {
      server.privately.users?.clear();
      return privates.end(server.privately, how);
    },
  };
}

const subscriptionsOf = ({ subscriptions }: Server, user: ConnectionUser | undefined): Subscriptions =>
  user ? subscriptions.of(user) : subscriptions.shared;

interface ToolDiscoveryOptions extends Pick<ConnectionPoolOptions, 'find' | 'cache' | 'closing'> {
  readonly privates: PrivateConnections;
}

type ToolDiscovery = Pick<ConnectionPool, 'discoverTools' | 'discoverToolsLater' | 'needsConnection'>;

// A client chooses the settings of its extensions. Each set takes a connection, and the sets of other clients wait for it.
const MAX_QUEUED_SETS = 4;

/** Discovers the tools that servers list to clients with capabilities. */
function toolDiscovery({ find, privates, cache, closing }: ToolDiscoveryOptions): ToolDiscovery {
  // By server and principal.
  const queued = new Map<string, Set<number>>();
  let last = Promise.resolve();

  async function discoverTools(name: string, user: UserWithCapabilities, signal: AbortSignal): Promise<void> {
    const server = find(name);
    // A modern connection lists all tools to every client.
    if (server?.connection?.agreement.era !== 'legacy' || server.privately.usesShared(user)) return;
    const { privately } = server;
    const { capabilityLists } = server.definitions;
    const isUnknown = !capabilityLists.listed(user.capabilities) && !privates.feedOf(privately, user);
    if (isUnknown) await privates.ensureOpen(privately, user, signal);
    await abortable(capabilityLists.listed(user.capabilities) ?? Promise.resolve(), signal);
  }

  return {
    discoverTools,
    discoverToolsLater(names, user) {
      for (const name of names) {
        const key = `${name} ${user.caller.id}`;
        const set = capabilitiesKey(user.capabilities);
        const sets = queued.get(key) ?? new Set();
        if (sets.has(set) || sets.size >= MAX_QUEUED_SETS) continue;
        queued.set(key, sets.add(set));
        // One server at a time: private connections are limited, and calls need them first.
        last = last
          .then(() => discoverTools(name, user, closing))
          .catch(() => {}) // The next list of this client tries again.
          .finally(() => {
            sets.delete(set);
            if (sets.size === 0) queued.delete(key);
          });
      }
      return last;
    },
    needsConnection(name, caller) {
      const server = find(name);
      if (!server || server.connection) return false;
      if (server.privately.users) return !server.privately.users.isListed({ caller });
      return !cache.has(server.plan, listedSetOf(server, caller));
    },
  };
}
