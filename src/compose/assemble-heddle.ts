import { resolve as resolvePath } from 'node:path';
import { liveCatalog } from '../catalog/live-catalog.ts';
import { openMetrics } from '../catalog/routing/metrics.ts';
import type { Config, ServerConfig } from '../config/config.ts';
import { trustFile } from '../config/sources/trust-file.ts';
import { type Feed, feed } from '../core/async/feed.ts';
import { capabilitiesKey } from '../core/call/client-capabilities.ts';
import type { RunOrigin } from '../core/records/run.ts';
import type { Change } from '../core/records/server-status.ts';
import type { Clock } from '../core/time.ts';
import { homeFolder } from '../files/home-folder.ts';
import type { Heddle } from '../heddle.ts';
import { openWatchdog } from '../process/watchdog.ts';
import type { Store } from '../store/store.ts';
import { openServerRequests, type ServerRequests } from '../upstream/elicitation/server-requests.ts';
import { suspendedCalls } from '../upstream/elicitation/suspended-calls.ts';
import { notifications } from '../upstream/lifecycle/notifications.ts';
import { type PlanOptions, planServer } from '../upstream/lifecycle/plan-server.ts';
import { inProcessOf } from '../upstream/lifecycle/programmatic-servers.ts';
import { type FailureOptions, openServerCache } from '../upstream/lifecycle/server-cache.ts';
import { openServers } from '../upstream/servers.ts';
import { httpPool } from '../upstream/transports/http-pool.ts';
import { type ActiveConfig, activeConfigOf, callable } from './active-config.ts';
import { builtInsOf } from './built-ins.ts';
import { catalogPublisher, changePublishers, listsFor } from './change-publishers.ts';
import { createHeddle } from './create-heddle.ts';
import { type Environment, type HeddleOptions, wallClockOf } from './heddle-options.ts';
import { registeredServers } from './registered-servers.ts';
import { rememberedOf } from './remembered.ts';
import { authPartsOf } from './sign-in/auth-parts.ts';
import { openWorkflowBuiltIn } from './workflows/workflow-built-in.ts';

export interface HeddleParts {
  readonly config: Config;
  /** Version of `trust.json` just before `config` was read; empty without `watch`. */
  readonly trustVersion: string;
  /** Reads the configuration again, with the servers registered at run time. */
  readonly read: (registered: readonly ServerConfig[]) => Promise<Config>;
  readonly store: Store;
  /** A file path, `:memory:` or a URL. */
  readonly storeLocation: string;
  readonly origin: RunOrigin;
  readonly options: HeddleOptions;
  readonly env: Environment;
  readonly clock: Clock;
  /** Aborted when Heddle closes. */
  readonly closing: AbortController;
}

/** Builds all parts of a Heddle and connects them. */
export async function assembleHeddle(parts: HeddleParts): Promise<Heddle> {
  const { config, store, storeLocation, origin, options, env, clock, closing } = parts;
  const inProcess = inProcessOf(options.servers ?? {});
  const wallClock = wallClockOf(options);
  const [watchdog, pool] = [openWatchdog(env), httpPool(env)];
  const workflowBuiltIn = openWorkflowBuiltIn();
  const home = homeFolder(env);
  const builtIns = builtInsOf({ config: () => active().config, home, storeLocation, env, watchdog, workflowBuiltIn });
  let activeConfig = activeConfigOf(config, builtIns, wallClock);
  const active = () => activeConfig;
  const auth = authPartsOf({ active, store, wallClock, env });
  // Notifications may come by the thousand, and must not displace the changes of a server's state.
  const changes = feed<Change>(({ kind, detail }) => kind === 'server' && detail.event === 'notification');
  const notified = notifications();
  const serverRequests = serverRequestsOf(() => activeConfig.config.settings, clock);
  const planOptions: PlanOptions = {
    ...{ watchdog, pool, env, inProcess, builtIns, serverRequests, auth, connectors: connectorTokensOf(parts, active) },
    ...{ cwd: resolvePath(options.cwd ?? '.'), connectTimeoutMs: () => active().config.settings.connect.timeoutMs },
  };
  const planAll = () => [...activeConfig.configs.values()].map((server) => planServer(server, planOptions));
  const plans = planAll();
  const metrics = openMetrics({ book: store.metrics, saved: await store.metrics.all(), present: plans });
  const sharedSet = capabilitiesKey(options.user?.capabilities);
  const failures = await failuresOf(parts, wallClock);
  const cache = openServerCache({ saved: await store.servers.all(), book: store.servers, sharedSet, failures });
  const owners = callable(activeConfig.configs, plans);
  const catalog = liveCatalog({ owners, ...rememberedOf(cache, plans), onChange: catalogPublisher(changes) });
  const servers = openServers({
    plans,
    cache,
    suspendedCalls: serverRequests.suspendedCalls,
    ...config.settings.connect,
    clock,
    user: options.user,
    ...changePublishers(changes, notified),
    ...listsFor(catalog),
  });
  if (options.autoConnect !== false) servers.start();
  const adopt = (next = activeConfig.config) => {
    activeConfig = activeConfigOf(next, builtIns, wallClock);
    const nextPlans = planAll();
    metrics.meet(nextPlans);
    serverRequests.configured();
    servers.update(nextPlans);
    catalog.configure(callable(activeConfig.configs, nextPlans));
    for (const builtIn of builtIns) builtIn.update?.();
  };
  const registered = registeredServers({ read: parts.read, active, adopt, inProcess, closing: closing.signal });
  const watching = options.watch && (await followFiles(parts, { read: registered.read, adopt, changes }));
  const closeStore = await writeCheckpoints(options, store);
  const running = { store, changes, notified, catalog, servers, metrics, registered, serverRequests, watchdog, env };
  const own = { options, auth, builtIns, workflowBuiltIn, readopt: adopt, storeLocation, origin };
  return createHeddle({ active, clock, wallClock, ...own, ...running }, async () => {
    closing.abort();
    serverRequests.suspendedCalls.close();
    if (watching) watching.close();
    const closed = servers.close();
    changes.close(); // `servers.close` has published the state of every server by now.
    await closed;
    await Promise.allSettled([...(auth.renewals ?? []), ...builtIns.map((builtIn) => builtIn.close())]);
    await pool.close();
    watchdog.close();
    await metrics.close();
    await closeStore();
  });
}

/** Returns the failed connections of all processes, and how long they are shown. */
const failuresOf = async ({ store, options }: HeddleParts, clock: Clock): Promise<FailureOptions> => ({
  ...{ saved: await store.failures.all(), book: store.failures },
  ...{ shownMs: options.recentFailuresMs ?? 0, clock },
});

/** Opens the requests of servers, by the settings in force. */
const serverRequestsOf = (settings: () => Config['settings'], clock: Clock): ServerRequests =>
  openServerRequests({
    suspendedCalls: suspendedCalls(),
    roots: () => settings().roots,
    sampling: () => settings().sampling,
    clock,
  });

/** Starts the checkpoints of the audit log, if wanted. The returned function ends them and closes the store. */
async function writeCheckpoints({ checkpoints }: HeddleOptions, store: Store): Promise<() => Promise<void>> {
  if (!checkpoints) return () => store.close();
  const { followCheckpoints } = await import('./audit/follow-checkpoints.ts');
  const writeLast = followCheckpoints(store.audit);
  return async () => {
    await writeLast();
    await store.close();
  };
}

/** Returns the connectors, whose tokens servers of type `proxy` use. */
const connectorTokensOf = (
  { read }: HeddleParts,
  active: () => ActiveConfig,
): NonNullable<PlanOptions['connectors']> => ({
  current: () => active().config.settings.connectors,
  reread: async () => (await read([])).settings.connectors,
});

interface Reload {
  readonly read: () => Promise<Config>;
  readonly adopt: (config: Config) => void;
  readonly changes: Feed<Change>;
}

/** Activates the configuration again whenever one of its files or `trust.json` changes. */
async function followFiles(
  { config, trustVersion, options, env, store }: HeddleParts,
  { read, adopt, changes }: Reload,
): Promise<{ close(): void }> {
  const { followConfig } = await import('../config/follow-config.ts');
  const apply = (next: Config) => {
    adopt(next);
    recordReload(store, next, wallClockOf(options)());
    changes.publish({ kind: 'config', subject: 'configuration', detail: { problems: next.problems.length } });
  };
  const also = new Map([[trustFile(homeFolder(env)), trustVersion]]);
  return followConfig({ first: config, read, also, apply, onProblems: options.onProblems ?? (() => {}) });
}

/** Records that changed files are active now: the rules of later records are theirs. */
function recordReload({ audit }: Store, { files, problems }: Config, at: number): void {
  const record = { callId: '', phase: 'outcome', at, caller: 'heddle', via: 'store', name: 'config.reload' } as const;
  audit.append({
    ...record,
    detail: { files: files.flatMap(({ file, state }) => (state === 'absent' ? [] : file)), problems: problems.length },
  });
}
