import { limiter } from '../core/async/limiter.ts';
import { capabilitiesKey } from '../core/call/client-capabilities.ts';
import type { ConnectionUser, PrivateUser } from '../core/call/private-user.ts';
import type { JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { ServerEvent, ServerStatus } from '../core/records/server-status.ts';
import { realTimer, repeatEvery, steadyClock, type Time } from '../core/time.ts';
import type { ServerBook, ServerMemory } from '../store/server-book.ts';
import type { Connection, ListKind } from './connection.ts';
import { type ConnectionPool, connectionPool } from './lifecycle/connection-pool.ts';
import { type Learner, learner } from './lifecycle/discover-capability-lists.ts';
import { PROBE_EVERY_MS } from './lifecycle/health.ts';
import type { ServerPlan } from './lifecycle/plan-server.ts';
import { PrivateConnections, type SoleUser } from './lifecycle/private-connections.ts';
import { Server } from './lifecycle/server.ts';
import { type Memories, memories } from './lifecycle/server-memory.ts';
import { type ServerSubscriptions, serverSubscriptions } from './lifecycle/subscriptions.ts';

export interface ServersOptions extends Partial<Time> {
  readonly plans: readonly ServerPlan[];
  readonly memories: readonly ServerMemory[];
  readonly book: ServerBook;
  readonly localConcurrency: number;
  readonly remoteConcurrency: number;
  /** Whoever this process belongs to, when it serves nobody else: servers may ask on the line that all calls share. */
  readonly user?: SoleUser | undefined;
  /** `detail` says which list changed. */
  readonly onStatus: (status: ServerStatus, event: ServerEvent, detail?: JsonObject) => void;
  readonly onList: (server: string, kind: ListKind, items: readonly JsonObject[]) => void;
  /** What a server lists to those who can be asked this, as `abilitiesKey` says it. */
  readonly onAbleTools?: (server: string, abilities: number, tools: readonly JsonObject[]) => void;
  /** Receives each list of a private connection, for its user alone. */
  readonly onPrivateList?: (server: string, user: PrivateUser, listed: PrivateList) => void;
  /** A private connection is gone, and its lists with it. */
  readonly onPrivateEnd?: (server: string, user: PrivateUser) => void;
  /** `user` is given for a notification on a private connection: it is for that user alone. */
  readonly onNotification: (server: string, method: string, params: JsonObject, user?: PrivateUser) => void;
}

export interface PrivateList {
  readonly kind: ListKind;
  readonly items: readonly JsonObject[];
}

/** All configured servers. None is started before it is needed, except those that ask for it. */
export interface Servers extends Learner, ConnectionPool {
  status(): readonly ServerStatus[];
  /** How one of them is doing; undefined when it is not configured. */
  statusOf(name: string): ServerStatus | undefined;
  /** Throws NAME_UNKNOWN for a server that is not configured, or whatever kept it from connecting. */
  connect(name: string, signal: AbortSignal): Promise<Connection>;
  /** The open main line, if there is one. */
  connected(name: string): Connection | undefined;
  /** Returns how many connections to the server were opened so far, private ones included. */
  connectionsTo(name: string): number;
  /** Ends all lines to a server. It is connected again when it is needed. */
  disconnect(name: string): Promise<void>;
  /** Tells a server something, connecting it when needed. */
  notify(
    name: string,
    said: { readonly method: string; readonly params: JsonObject },
    signal: AbortSignal,
  ): Promise<void>;
  /** Starts those whose entries say `autoConnect`, and those that somebody is subscribed to. */
  start(): void;
  /** Takes the servers of a new configuration. Only what changed is started anew; live calls come to their end. */
  update(plans: readonly ServerPlan[]): void;
  close(): Promise<void>;
}

// The limits are against many starting at once; one that still waits after this is not starting, it hangs.
const START_MS = 1000;

export function openServers(options: ServersOptions): Servers {
  const { clock = steadyClock, timer = realTimer, random = Math.random } = options;
  const opened = connectionCounts();
  const lines = new PrivateConnections({ clock, onOpened: opened.count });
  const closing = new AbortController();
  const known = memories(options.memories, capabilitiesKey(options.user?.capabilities));
  const open = opener(opened.countedBy(options), { clock, timer, random }, { lines, known });
  let servers = new Map(options.plans.map((plan) => [plan.name, open(plan)]));
  const retiring = retirement();

  const stopLooking = repeatEvery(timer, PROBE_EVERY_MS, () => {
    for (const server of servers.values()) {
      void server.check();
      restore(server);
    }
    lines.sweep();
  });

  /** Asks a server, and its successor when a newer configuration replaced it meanwhile: nothing was sent yet. */
  async function ask<T>(name: string, signal: AbortSignal, question: (server: Server) => Promise<T>): Promise<T> {
    for (;;) {
      const server = servers.get(name);
      if (!server) throw unknownServer(name);
      try {
        return await question(server);
      } catch (thrown) {
        if (servers.get(name) === server || signal.aborted || closing.signal.aborted) throw thrown;
      }
    }
  }

  const connect = (name: string, signal: AbortSignal) => ask(name, signal, (server) => server.connect(signal));

  function start(): void {
    for (const server of servers.values()) {
      const isWanted = server.plan.autoConnect || (!server.connection && server.subscriptions.shared.areWanted());
      if (isWanted) server.connect(closing.signal).catch(() => {}); // Its status says why.
      restore(server);
    }
  }

  const pool = connectionPool({ lines, find: (name) => servers.get(name), using: ask });
  const restore = (server: Server) =>
    restoreSubscribed(server, lines, (user) => pool.lineFor(server.name, user, closing.signal));

  return {
    status: () => [...servers.values()].map((server) => withLines(server.status, lines.count(server.privately))),
    statusOf: (name) => servers.get(name)?.status,
    connected: (name) => servers.get(name)?.connection,
    connect,
    ...pool,
    ...learner({ find: (name) => servers.get(name), lines, known, signal: closing.signal }),
    connectionsTo: opened.of,
    disconnect: async (name) => servers.get(name)?.disconnect(),
    notify: async (name, { method, params }, signal) => (await connect(name, signal)).notify(method, params, signal),
    start,
    update(next) {
      const [before, kept] = [servers, unchanged(servers, next)];
      for (const server of before.values()) if (!kept.has(server.name)) retiring.add(server);
      const opened = next.map((plan) => kept.get(plan.name) ?? open(plan, before.get(plan.name)?.subscriptions));
      servers = new Map(opened.map((server) => [server.name, server]));
      start();
    },
    async close() {
      closing.abort();
      stopLooking();
      await Promise.all([...servers.values(), ...retiring.servers].map((server) => server.close()));
    },
  };
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

/** Servers that still finish their calls, and close after that. */
function retirement() {
  const servers = new Set<Server>();
  const add = (server: Server) => {
    servers.add(server);
    server.retire().finally(() => servers.delete(server));
  };
  return { servers, add };
}

/** Opens the private connections that clients are subscribed on and that were lost. */
function restoreSubscribed(
  { privately, subscriptions }: Server,
  lines: PrivateConnections,
  open: (user: ConnectionUser) => Promise<Connection>,
): void {
  for (const user of subscriptions.wanted()) if (!lines.ensureFeed(privately, user)) open(user).catch(() => {});
}

function unchanged(servers: ReadonlyMap<string, Server>, plans: readonly ServerPlan[]): ReadonlyMap<string, Server> {
  const revisions = new Map(plans.map(({ name, revision }) => [name, revision]));
  return new Map([...servers].filter(([name, { plan }]) => revisions.get(name) === plan.revision));
}

/** Makes servers, each with what was remembered of it. */
function opener(options: ServersOptions, time: Time, shared: { lines: PrivateConnections; known: Memories }) {
  const { lines, known } = shared;
  const { book, user, onStatus, onList, onAbleTools = () => {}, onNotification } = options;
  const { onPrivateList = () => {}, onPrivateEnd = () => {} } = options;
  const local = limiter(options.localConcurrency, START_MS);
  const remote = limiter(options.remoteConcurrency, START_MS);

  return function open(plan: ServerPlan, inherited?: ServerSubscriptions): Server {
    const { name } = plan;
    const missed = (uri: string, of?: PrivateUser) =>
      onNotification(name, 'notifications/resources/updated', { uri }, of);
    const server = new Server({
      plan,
      known: known.of(plan),
      knownAble: known.able(plan),
      limited: plan.local ? local : remote,
      lines,
      subscriptions: inherited ?? serverSubscriptions(missed),
      user,
      time,
      onStatus,
      onList: (kind, items) => onList(name, kind, items),
      onAbleTools: (abilities, tools) => onAbleTools(name, abilities, tools),
      onPrivateList: (of, kind, items) => onPrivateList(name, of, { kind, items }),
      onPrivateEnd: (of) => onPrivateEnd(name, of),
      onNotification: (method, params, of) => onNotification(name, method, params, of),
      remember(memory) {
        known.put(memory);
        book.remember(memory).catch(() => {}); // What is forgotten is learnt again: never worth failing a connect for.
      },
    });
    onStatus(server.status, 'registered');
    if (server.status.state !== 'pending') onStatus(server.status, server.status.state);
    return server;
  };
}

const withLines = (status: ServerStatus, privateLines: number): ServerStatus =>
  privateLines === 0 ? status : { ...status, privateConnections: privateLines };

const unknownServer = (name: string) =>
  new HeddleError('NAME_UNKNOWN', `No server is named ${name}.`, {
    fix: 'Run `heddle list servers` to see their names.',
  });
