import { onTestFinished } from 'vitest';
import { TREATMENT_DEFAULTS } from '../config/schema/defaults.ts';
import type { SdkEntry } from '../config/schema/schema.ts';
import type { Caller, JsonObject, Target } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import { openStore } from '../store/open-store.ts';
import type { Connect } from '../upstream/connection.ts';
import { suspendedCalls } from '../upstream/elicitation/suspended-calls.ts';
import type { ServerPlan } from '../upstream/lifecycle/plan-server.ts';
import { openServerCache } from '../upstream/lifecycle/server-cache.ts';
import { openServers, type Servers } from '../upstream/servers.ts';
import { connectInMemory } from '../upstream/transports/connect-in-memory.ts';
import type { Transport } from '../wire/transport.ts';
import type { Catalog } from './catalog.ts';
import { buildCatalog } from './entries/build.ts';
import { buildServerTools } from './entries/server-tools.ts';
import { type ListOptions, startUnknownServers } from './list.ts';
import { type Definitions, type LiveCatalog, liveCatalog } from './live-catalog.ts';
import { type Resolve, resolver } from './resolve.ts';
import { type LiveMetrics, openMetrics } from './routing/metrics.ts';

export interface World extends ListOptions {
  readonly servers: Servers;
  readonly catalog: LiveCatalog;
  readonly resolve: Resolve;
  /** The names of started servers, in order; a restarted server is repeated. */
  readonly started: readonly string[];
}

export interface WorldOptions {
  readonly entries?: Readonly<Record<string, SdkEntry>>;
  readonly remembered?: readonly Definitions[];
  readonly hides?: (target: Target) => boolean;
  readonly hidesServer?: (server: string) => boolean;
  readonly waitMs?: number;
  /** The delay before a failed server is tried again. */
  readonly retryAfterMs?: number;
  readonly clock?: Clock;
}

export const anEntry = (overrides: Partial<SdkEntry> = {}): SdkEntry => ({
  type: 'sdk',
  name: 'in-process',
  ...TREATMENT_DEFAULTS,
  ...overrides,
});

export const tool = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
});

/** Builds the catalog of these servers, each with its tools and its entry. */
export function catalogOf(servers: Readonly<Record<string, readonly [readonly JsonObject[], SdkEntry?]>>): Catalog {
  const parts = Object.entries(servers).map(([name, [tools, entry]]) =>
    buildServerTools(name, tools, { entry, builtin: false }),
  );
  return buildCatalog(parts);
}

/** Opens in-process servers behind a real catalog; closed when the test ends. */
export async function openWorld(
  given: Readonly<Record<string, { connect: (transport: Transport) => Promise<void> } | Connect>>,
  options: WorldOptions = {},
): Promise<World> {
  const started: string[] = [];
  const store = await openStore({ location: ':memory:' });
  const owners = new Map(Object.keys(given).map((name) => [name, { entry: options.entries?.[name], builtin: false }]));
  const catalog = liveCatalog({ owners, remembered: options.remembered ?? [], onChange: () => {} });
  const servers = openServers({
    plans: Object.entries(given).map(([name, server]) => {
      const connect = typeof server === 'function' ? server : connectInMemory(server.connect);
      return planOf(name, options.retryAfterMs ?? 0, (options) => {
        started.push(name);
        return connect(options);
      });
    }),
    suspendedCalls: suspendedCalls(),
    cache: openServerCache({ saved: [], book: store.servers }),
    ...(options.clock && { clock: options.clock }),
    localConcurrency: 10,
    remoteConcurrency: 10,
    onStatus: () => {},
    onList: (server, kind, items) => catalog.update(server, items, kind),
    onNotification: () => {},
  });
  onTestFinished(async () => {
    await servers.close();
    await store.close();
  });
  const view: ListOptions = {
    catalog,
    servers,
    visible: (_caller, target) => !options.hides?.(target),
    serverVisible: (_caller, server) => !options.hidesServer?.(server),
  };
  const discover = (caller: Caller, signal: AbortSignal) =>
    startUnknownServers(view, caller, options.waitMs ?? 2000, signal);
  return { ...view, started, resolve: resolver({ ...view, discover }) };
}

/** Metrics without a store. */
export const someMetrics = (): LiveMetrics => openMetrics({ book: { all: async () => [], add: async () => {} } });

const planOf = (name: string, retryAfterMs: number, connect: Connect): ServerPlan => ({
  name,
  scope: 'sdk',
  transport: 'in-process',
  sandbox: 'none',
  credentials: 'none',
  signature: name,
  revision: '1',
  local: false,
  autoConnect: false,
  reconnect: { maxAttempts: 0, delayMs: retryAfterMs },
  health: { intervalMs: 30_000, misses: 2 },
  connectTimeoutMs: 15_000,
  connect,
});
