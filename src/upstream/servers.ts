import type { JsonObject } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import { HeddleError } from '../core/errors.ts';
import { limiter } from '../core/limiter.ts';
import type { ServerStatus } from '../core/server-status.ts';
import type { ServerBook, ServerMemory } from '../store/server-book.ts';
import type { Connection } from './connection.ts';
import { Server, type ServerPlan } from './server.ts';

export interface ServersOptions {
  readonly plans: readonly ServerPlan[];
  readonly memories: readonly ServerMemory[];
  readonly book: ServerBook;
  readonly localConcurrency: number;
  readonly remoteConcurrency: number;
  readonly clock?: Clock;
  readonly onStatus: (status: ServerStatus) => void;
  readonly onTools: (server: string, tools: readonly JsonObject[]) => void;
}

/** All configured servers. None is started before it is needed, except those that ask for it. */
export interface Servers {
  status(): readonly ServerStatus[];
  /** Throws NAME_UNKNOWN for a server that is not configured, or whatever kept it from connecting. */
  connect(name: string, signal: AbortSignal): Promise<Connection>;
  /** The open line, if there is one. */
  connected(name: string): Connection | undefined;
  /** Starts those whose entries say `autoConnect`. */
  start(): void;
  /** Takes the servers of a new configuration. Only what changed is started anew; live calls come to their end. */
  update(plans: readonly ServerPlan[]): void;
  close(): Promise<void>;
}

// The limits are against many starting at once; one that still waits after this is not starting, it hangs.
const START_MS = 1000;

export function openServers(options: ServersOptions): Servers {
  const { plans, memories, book, clock = Date.now, onStatus, onTools } = options;
  const local = limiter(options.localConcurrency, START_MS);
  const remote = limiter(options.remoteConcurrency, START_MS);
  const known = new Map(memories.map((memory) => [memory.server, memory]));
  const closing = new AbortController();

  function remember(plan: ServerPlan, tools: readonly JsonObject[], { agreement }: Connection): void {
    const { name: server, signature } = plan;
    if (plan.scope === 'builtin' || !agreement.certain) return;
    const memory = { server, signature, era: agreement.era, tools, at: clock() };
    known.set(server, memory);
    book.remember(memory).catch(() => {}); // What is forgotten is learnt again: never worth failing a connect for.
  }

  function open(plan: ServerPlan): Server {
    const memory = known.get(plan.name);
    return new Server({
      plan,
      known: memory && memory.signature === plan.signature ? memory : undefined,
      limited: plan.local ? local : remote,
      clock,
      onStatus,
      onTools(tools, connection) {
        remember(plan, tools, connection);
        onTools(plan.name, tools);
      },
    });
  }

  let servers = new Map(plans.map((plan) => [plan.name, open(plan)]));
  const retiring = new Set<Server>();

  const retire = (server: Server) => {
    retiring.add(server);
    server.retire().finally(() => retiring.delete(server));
  };

  function start(): void {
    for (const server of servers.values()) {
      if (server.plan.autoConnect) server.connect(closing.signal).catch(() => {}); // Its status says why.
    }
  }

  return {
    status: () => [...servers.values()].map((server) => server.status),
    connected: (name) => servers.get(name)?.connection,
    async connect(name, signal) {
      for (;;) {
        const server = servers.get(name);
        if (!server) throw unknownServer(name);
        try {
          return await server.connect(signal);
        } catch (thrown) {
          // Replaced while we waited, by a newer configuration: nothing was sent yet, so its successor is asked.
          if (servers.get(name) === server || signal.aborted || closing.signal.aborted) throw thrown;
        }
      }
    },
    start,
    update(next) {
      const before = servers;
      servers = new Map(
        next.map((plan) => {
          const known = before.get(plan.name);
          return [plan.name, known?.plan.revision === plan.revision ? known : open(plan)];
        }),
      );
      for (const [name, server] of before) if (servers.get(name) !== server) retire(server);
      start();
    },
    close() {
      closing.abort();
      return Promise.all([...servers.values(), ...retiring].map((server) => server.close())).then(() => {});
    },
  };
}

const unknownServer = (name: string) =>
  new HeddleError('NAME_UNKNOWN', `No server is named ${name}.`, {
    fix: 'Run `heddle list servers` to see their names.',
  });
