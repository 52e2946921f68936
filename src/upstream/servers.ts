import { limiter } from '../core/async/limiter.ts';
import type { ConnectionUser, PrivateUser } from '../core/call/private-user.ts';
import type { Caller, Extensions, JsonObject } from '../core/call.ts';
import type { ServerEvent, ServerStatus } from '../core/records/server-status.ts';
import { unknownServer } from '../core/records/unknown-server.ts';
import { realTimer, repeatEvery, steadyClock, type Time } from '../core/time.ts';
import type { ListKind } from './connection.ts';
import type { SuspendedCalls } from './elicitation/suspended-calls.ts';
import { type ConnectionPool, connectionPool, type OwnedConnectionPool } from './lifecycle/connection-pool.ts';
import { repeatChecks } from './lifecycle/health.ts';
import type { ServerPlan } from './lifecycle/plan-server.ts';
import { Server } from './lifecycle/server.ts';
import type { ServerCache } from './lifecycle/server-cache.ts';
import type { SoleUser } from './lifecycle/shared-connection.ts';
import { type ServerSubscriptions, serverSubscriptions } from './lifecycle/subscriptions.ts';

export interface ServersOptions extends Partial<Time> {
  readonly plans: readonly ServerPlan[];
  readonly cache: ServerCache;
  /** The calls that wait for input responses. */
  readonly suspendedCalls: SuspendedCalls;
  readonly localConcurrency: number;
  readonly remoteConcurrency: number;
  /** The user of a process that serves one user only: servers may send requests on the shared connection. */
  readonly user?: SoleUser | undefined;
  /** `detail` says which list changed. */
  readonly onStatus: (status: ServerStatus, event: ServerEvent, detail?: JsonObject) => void;
  readonly onList: (server: string, kind: ListKind, items: readonly JsonObject[]) => void;
  /** Receives the tools that a server lists to clients with this capability set. */
  readonly onCapabilityTools?: (server: string, capabilitySet: number, tools: readonly JsonObject[]) => void;
  /** Receives each list of a private connection, for its user alone. */
  readonly onPrivateList?: (server: string, user: PrivateUser, listed: PrivateList) => void;
  /** Called when a private connection has ended. Its lists are no longer valid. */
  readonly onPrivateEnd?: (server: string, user: PrivateUser) => void;
  /** Called when a user of a server with per-user credentials has to sign in. Its lists are no longer valid. */
  readonly onSignInNeeded?: (server: string, user: PrivateUser) => void;
  /** `user` is given for a notification on a private connection: it is for that user alone. */
  readonly onNotification: (server: string, method: string, params: JsonObject, user?: PrivateUser) => void;
}

export interface PrivateList {
  readonly kind: ListKind;
  readonly items: readonly JsonObject[];
}

/** All configured servers. A server connects at its first use, or at the start if its entry says `autoConnect`. */
export interface Servers extends ConnectionPool {
  /** Returns the status of all servers. With per-user credentials the state is that of `caller`. */
  status(caller?: Caller): readonly ServerStatus[];
  /** Returns the status of a server; undefined when it is not configured. */
  statusOf(name: string): ServerStatus | undefined;
  /** Returns the instructions of a server: of its last handshake, or of that for this caller with per-user credentials. */
  instructionsOf(name: string, caller: Caller): string | undefined;
  /** Returns for how long the shared connection of a server has been opening; undefined while none is. */
  connectingMs(name: string): number | undefined;
  /** Returns the extensions that a server declared in its last handshake; undefined if there are none. */
  extensionsOf(name: string): Extensions | undefined;
  /** Tests whether some server has an extension. With a sole user all are passed on, so it is true. */
  hasExtension(id: string): boolean;
  /** Returns how many connections to the server were opened so far, private ones included. */
  connectionsTo(name: string): number;
  /** Closes all connections to a server after their calls in flight. The next call connects it. Throws NAME_UNKNOWN. */
  disconnect(name: string): Promise<void>;
  /** Sends a notification to a server for a user, and connects it when needed. */
  notify(name: string, notification: UserNotification, signal: AbortSignal): Promise<void>;
  /** Connects the servers with `autoConnect` and those with subscriptions. */
  start(): void;
  /** Applies a new configuration. Only changed servers are replaced. Their calls in flight run to completion. */
  update(plans: readonly ServerPlan[]): void;
  close(): Promise<void>;
}

export interface UserNotification {
  readonly method: string;
  readonly params: JsonObject;
  /** The sender; its connection is used with per-user credentials. */
  readonly user?: ConnectionUser;
}

// A connecting server frees its place in the concurrency limit after this time. One that hangs does not block others.
const START_MS = 1000;
// Interval at which lost subscriptions are restored and unused connections closed.
const UPKEEP_MS = 30_000;

export function openServers(options: ServersOptions): Servers {
  const { clock = steadyClock, timer = realTimer, random = Math.random, cache, user, suspendedCalls } = options;
  const opened = connectionCounts();
  const closing = new AbortController();
  const open = serverOpener(opened.countedBy(options), { clock, timer, random });
  let servers = new Map(options.plans.map((plan) => [plan.name, open(plan)]));
  const find = (name: string) => servers.get(name);

  /** Runs `use` with a server. Runs it again if it fails and a new configuration has replaced the server. */
  async function using<T>(name: string, signal: AbortSignal, use: (server: Server) => Promise<T>): Promise<T> {
    for (;;) {
      const server = servers.get(name);
      if (!server) throw unknownServer(name, servers.keys());
      try {
        return await use(server);
      } catch (thrown) {
        if (servers.get(name) === server || signal.aborted || closing.signal.aborted) throw thrown;
      }
    }
  }

  const own = { cache, suspendedCalls, user, clock, timer, find, using, all: () => servers.values() };
  const pool = connectionPool({ ...own, onOpened: opened.count, closing: closing.signal });
  const retiring = retirement(pool);
  const checks = repeatChecks(timer, () => servers.values());
  const stopUpkeep = repeatEvery(timer, UPKEEP_MS, () => {
    for (const server of servers.values()) pool.restoreSubscribed(server);
    pool.sweep();
  });
  const start = () => startWanted(servers.values(), pool, closing.signal);

  return {
    ...pool,
    status: (caller) =>
      [...servers.values()].map((server) =>
        withPrivateCount(caller ? pool.statusFor(server, caller) : server.status, pool.privateCount(server)),
      ),
    instructionsOf: (name, caller) => instructionsFor(pool, servers.get(name), caller),
    statusOf: (name) => servers.get(name)?.status,
    connectingMs: (name) => servers.get(name)?.connectingMs,
    extensionsOf: (name) => servers.get(name)?.definitions.extensions.declared(),
    hasExtension: (id) =>
      user?.capabilities.extensions !== undefined ||
      [...servers.values()].some(({ definitions }) => definitions.extensions.has(id)),
    connectionsTo: opened.of,
    async disconnect(name) {
      const server = servers.get(name);
      if (!server) throw unknownServer(name, servers.keys());
      await Promise.all([server.disconnect('drain'), pool.endPrivate(server, 'drain')]);
    },
    notify: async (name, { method, params, user: sender }, signal) =>
      (await pool.connect(name, signal, sender)).notify(method, params, signal),
    start,
    update(next) {
      const [before, kept] = [servers, unchanged(servers, next)];
      for (const server of before.values()) if (!kept.has(server.name)) retiring.add(server);
      const current = next.map((plan) => kept.get(plan.name) ?? open(plan, before.get(plan.name)?.subscriptions));
      servers = new Map(current.map((server) => [server.name, server]));
      checks.follow();
      start();
    },
    async close() {
      closing.abort();
      checks.stop();
      stopUpkeep();
      const all = [...servers.values(), ...retiring.servers];
      await Promise.all(all.map((server) => closeAll(pool, server)));
    },
  };
}

/** Returns the instructions of a server; with per-user credentials those of the caller's own connection. */
function instructionsFor(pool: OwnedConnectionPool, server: Server | undefined, caller: Caller): string | undefined {
  if (!server?.privately.users) return server?.definitions.instructions();
  const { info } = pool.statusFor(server, caller);
  return typeof info?.instructions === 'string' ? info.instructions : undefined;
}

/** Connects the servers with `autoConnect` and those with subscriptions. */
function startWanted(servers: Iterable<Server>, pool: OwnedConnectionPool, closing: AbortSignal): void {
  for (const server of servers) {
    const isWanted =
      (server.plan.autoConnect && !server.privately.users) ||
      (!server.connection && server.subscriptions.shared.hasSubscribers());
    if (isWanted) server.connect(closing).catch(() => {}); // The status has the error.
    pool.restoreSubscribed(server);
  }
}

/** Closes the shared and the private connections of a server. */
async function closeAll(pool: OwnedConnectionPool, server: Server): Promise<void> {
  await Promise.all([server.close(), pool.endPrivate(server, 'close')]);
}

/** Counts the connections that were opened, by server. */
function connectionCounts() {
  const opened = new Map<string, number>();
  const of = (name: string) => opened.get(name) ?? 0;
  const count = (name: string) => void opened.set(name, of(name) + 1);
  const countedBy = (options: ServersOptions): ServersOptions => ({
    ...options,
    onStatus(status, event, detail) {
      if (event === 'connected') count(status.name);
      options.onStatus(status, event, detail);
    },
  });
  return { of, count, countedBy };
}

/** The servers of an older configuration, which close when their calls in flight have ended. */
function retirement(pool: OwnedConnectionPool) {
  const servers = new Set<Server>();
  const add = (server: Server) => {
    servers.add(server);
    Promise.all([server.retire(), pool.endPrivate(server, 'drain')]).finally(() => servers.delete(server));
  };
  return { servers, add };
}

function unchanged(servers: ReadonlyMap<string, Server>, plans: readonly ServerPlan[]): ReadonlyMap<string, Server> {
  const revisions = new Map(plans.map(({ name, revision }) => [name, revision]));
  return new Map([...servers].filter(([name, { plan }]) => revisions.get(name) === plan.revision));
}

/** Returns a function that creates servers. Limits how many local and remote servers connect at once. */
function serverOpener(options: ServersOptions, time: Time) {
  const { cache, user, onStatus, onList, onCapabilityTools = () => {}, onNotification } = options;
  const { onPrivateList = () => {}, onPrivateEnd = () => {}, onSignInNeeded = () => {} } = options;
  const local = limiter(options.localConcurrency, START_MS);
  const remote = limiter(options.remoteConcurrency, START_MS);

  return function open(plan: ServerPlan, inherited?: ServerSubscriptions): Server {
    const { name } = plan;
    const onMissed = (uri: string, of?: PrivateUser) =>
      onNotification(name, 'notifications/resources/updated', { uri }, of);
    const server = new Server({
      plan,
      cache,
      limited: plan.local ? local : remote,
      subscriptions: inherited ?? serverSubscriptions(onMissed),
      user,
      time,
      onStatus,
      onList: (kind, items) => onList(name, kind, items),
      onCapabilityTools: (capabilitySet, tools) => onCapabilityTools(name, capabilitySet, tools),
      onPrivateList: (of, kind, items) => onPrivateList(name, of, { kind, items }),
      onPrivateEnd: (of) => onPrivateEnd(name, of),
      onSignInNeeded: (of) => onSignInNeeded(name, of),
      onNotification: (method, params, of) => onNotification(name, method, params, of),
    });
    onStatus(server.status, 'registered');
    if (server.status.state !== 'pending') onStatus(server.status, server.status.state);
    return server;
  };
}

const withPrivateCount = (status: ServerStatus, privateConnections: number): ServerStatus =>
  privateConnections === 0 ? status : { ...status, privateConnections };
