import { join, resolve as resolvePath } from 'node:path';
import { startUnknownServers } from './catalog/list.ts';
import { type LiveCatalog, liveCatalog } from './catalog/live-catalog.ts';
import { readStages } from './catalog/reads/read-stages.ts';
import { resolver, withTarget } from './catalog/resolve.ts';
import { invoke } from './catalog/routing/invoke.ts';
import { type LiveMetrics, openMetrics } from './catalog/routing/metrics.ts';
import { subjectOf } from './catalog/subject.ts';
import { access } from './compose/access.ts';
import { type ActiveConfig, activeConfigOf, callable } from './compose/active-config.ts';
import { administration } from './compose/administration.ts';
import { browse, LIST_WAIT_MS } from './compose/browse.ts';
import { builtIns } from './compose/built-ins.ts';
import { catalogPublisher, changePublishers, changesFor, listsFor } from './compose/change-publishers.ts';
import { profileNames } from './compose/profile-names.ts';
import { type RegisteredServers, registeredServers } from './compose/registered-servers.ts';
import { rememberedOf } from './compose/remembered.ts';
import type { Config, Problem, ServerConfig } from './config/config.ts';
import { requireFile } from './config/read/require-file.ts';
import { readConfig } from './config/read-config.ts';
import { trustFile } from './config/sources/trust-file.ts';
import { type Feed, feed } from './core/async/feed.ts';
import { requireRole } from './core/call/caller.ts';
import { capabilitiesKey } from './core/call/client-capabilities.ts';
import type { Caller, Target } from './core/call.ts';
import type { Change } from './core/records/server-status.ts';
import { type Clock, steadyClock } from './core/time.ts';
import { homeFolder } from './files/home-folder.ts';
import { type Decide, hidesServer } from './govern/decide.ts';
import { pipeline } from './govern/pipeline.ts';
import { rates } from './govern/rate-limit.ts';
import { stageNames, stages } from './govern/stages.ts';
import type { Heddle } from './heddle.ts';
import { openWatchdog, type Watchdog } from './process/watchdog.ts';
import { openStore } from './store/open-store.ts';
import type { Secrets } from './store/secrets/secrets.ts';
import type { Store } from './store/store.ts';
import { openServerRequests, type ServerRequests } from './upstream/elicitation/server-requests.ts';
import { suspendedCalls } from './upstream/elicitation/suspended-calls.ts';
import { type Notifications, notifications } from './upstream/lifecycle/notifications.ts';
import { planServer } from './upstream/lifecycle/plan-server.ts';
import type { SoleUser } from './upstream/lifecycle/private-connections.ts';
import { inProcessOf, type ServersOption, toServerConfigs } from './upstream/lifecycle/programmatic-servers.ts';
import { openServers, type Servers } from './upstream/servers.ts';
import { httpPool } from './upstream/transports/http-pool.ts';

export interface HeddleOptions {
  /** The only file to read, instead of those of the project and the user. */
  readonly configFile?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Servers besides the configured ones: entries as in `mcpServers`, or in-process servers. */
  readonly servers?: ServersOption;
  /** Who brings those: the program that embeds Heddle, or somebody at its command line. */
  readonly scope?: 'sdk' | 'command';
  /** Believe what came with the project's folder without asking the user. */
  readonly trustProject?: boolean;
  readonly clock?: Clock;
  /** Told what is wrong with the configuration. The rest of it is in force all the same. */
  readonly onProblems?: (problems: readonly Problem[]) => void;
  /** Read the configuration again when one of its files changes. */
  readonly watch?: boolean;
  /** False keeps even servers that ask for it from being connected before they are needed. */
  readonly autoConnect?: boolean;
  /** The one user there is, when every call is theirs: servers are told what they can be asked. */
  readonly user?: SoleUser;
  /** How long lists and bare names wait for servers never seen: 2 s unless given; 0 starts none. */
  readonly listWaitMs?: number;
}

/** Opens the secrets that configurations name as `${secret:name}`. */
export async function openSecretStore(env: NonNullable<HeddleOptions['env']> = process.env): Promise<Secrets> {
  const { openSecrets } = await import('./store/secrets/open-secrets.ts');
  return openSecrets({ home: homeFolder(env), env });
}

/** Reads the configuration with the servers that the program brings, and those registered at run time. */
async function readConfigOf(
  options: HeddleOptions,
  signal: AbortSignal,
  registered: readonly ServerConfig[] = [],
): Promise<Config> {
  const own = await toServerConfigs(options.servers ?? {}, options.scope ?? 'sdk');
  return readConfig({ ...options, programmatic: [...own, ...registered], signal });
}

/** Dates what is written down; a program that owns time owns this clock, too. */
const wallClockOf = ({ clock = Date.now }: HeddleOptions): Clock => clock;

/** Puts all parts together. Nothing is started yet but what asks for `autoConnect`. */
export async function openHeddle(options: HeddleOptions = {}): Promise<Heddle> {
  const { env = process.env, clock = steadyClock } = options;
  const closing = new AbortController();
  const trusted = options.watch
    ? await (await import('./config/watch-files.ts')).versionNow(trustFile(homeFolder(env)))
    : '';
  const config = await readConfigOf(options, closing.signal);
  requireFile(config, options.configFile);
  options.onProblems?.(config.problems);
  const location = config.settings.store ?? join(homeFolder(env), 'heddle.sqlite');
  const store = await openStore({ location, clock: wallClockOf(options) });
  try {
    return await assemble({ config, trusted, store, options, env, clock, closing });
  } catch (thrown) {
    closing.abort();
    await store.close();
    throw thrown;
  }
}

interface Parts {
  readonly config: Config;
  readonly trusted: string;
  readonly store: Store;
  readonly options: HeddleOptions;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly closing: AbortController;
}

interface Running {
  readonly now: () => ActiveConfig;
  readonly store: Store;
  readonly changes: Feed<Change>;
  readonly heard: Notifications;
  readonly catalog: LiveCatalog;
  readonly servers: Servers;
  readonly metrics: LiveMetrics;
  readonly registered: RegisteredServers;
  readonly questions: ServerRequests;
  readonly clock: Clock;
  readonly wallClock: Clock;
  readonly watchdog: Watchdog;
  readonly env: Parts['env'];
  readonly options: HeddleOptions;
}

async function assemble({ config, trusted, store, options, env, clock, closing }: Parts): Promise<Heddle> {
  const inProcess = inProcessOf(options.servers ?? {});
  const builtin = builtIns({ config: () => situation.config, inProcess, home: homeFolder(env) });
  let situation = activeConfigOf(config, builtin);
  // What servers say may come by the thousand, and must not push out what happens to them.
  const changes = feed<Change>(({ detail }) => detail.event === 'notification');
  const heard = notifications();
  const [watchdog, pool] = [openWatchdog(env), httpPool(env)];
  const questions = openServerRequests({
    suspendedCalls: suspendedCalls(),
    roots: () => situation.config.settings.roots,
    sampling: () => situation.config.settings.sampling,
    clock,
  });
  const cwd = resolvePath(options.cwd ?? '.');
  const connectTimeoutMs = () => situation.config.settings.connect.timeoutMs;
  const surroundings = { watchdog, pool, env, inProcess, questions, cwd, connectTimeoutMs };
  const planAll = () => [...situation.configs.values()].map((server) => planServer(server, surroundings));
  const plans = planAll();
  const metrics = openMetrics({ book: store.metrics, saved: await store.metrics.all(), present: plans });
  const saved = await store.servers.all();
  const known = rememberedOf(saved, plans, capabilitiesKey(options.user?.capabilities));
  const onChange = catalogPublisher(changes);
  const catalog = liveCatalog({ owners: callable(situation.configs, plans), ...known, onChange });
  const servers = openServers({
    plans,
    memories: saved,
    book: store.servers,
    ...config.settings.connect,
    clock,
    user: options.user,
    ...changePublishers(changes, heard),
    ...listsFor(catalog),
  });
  if (options.autoConnect !== false) servers.start();
  const adopt = (read: Config) => {
    situation = activeConfigOf(read, builtin);
    const next = planAll();
    metrics.meet(next);
    servers.update(next);
    catalog.configure(callable(situation.configs, next));
  };
  const registered = registeredServers({
    read: (more) => readConfigOf(options, closing.signal, more),
    now: () => situation,
    adopt,
    inProcess,
    closing: closing.signal,
  });
  const { read } = registered;
  const following = options.watch && (await follow({ config, trusted, options, env, read, adopt, changes }));
  const parts = { store, changes, heard, catalog, servers, metrics, registered, questions, watchdog, env, clock };
  return govern({ now: () => situation, wallClock: wallClockOf(options), options, ...parts }, async () => {
    closing.abort();
    questions.suspendedCalls.close();
    if (following) following.close();
    const closed = servers.close();
    changes.close(); // Whoever listens has heard by now that they are closing.
    await closed;
    await pool.close();
    watchdog.close();
    await metrics.close();
    await store.close();
  });
}

interface Following extends Pick<Parts, 'config' | 'trusted' | 'options' | 'env'> {
  readonly read: () => Promise<Config>;
  readonly adopt: (config: Config) => void;
  readonly changes: Feed<Change>;
}

/** Puts in force what files say when they change, and the user's agreement to it. */
async function follow({ config, trusted, options, env, read, adopt, changes }: Following): Promise<{ close(): void }> {
  const { followConfig } = await import('./config/follow-config.ts');
  const apply = (next: Config) => {
    adopt(next);
    changes.publish({ kind: 'config', subject: 'configuration', detail: { problems: next.problems.length } });
  };
  const also = new Map([[trustFile(homeFolder(env)), trusted]]);
  return followConfig({ first: config, read, also, apply, onProblems: options.onProblems ?? (() => {}) });
}

function govern(running: Running, shutDown: () => Promise<void>): Heddle {
  const { now, store, changes, catalog, servers, metrics, wallClock } = running;
  const { listWaitMs = LIST_WAIT_MS } = running.options;
  const decide: Decide = (caller, target, sent) => now().decide(caller, target, sent);
  const view = {
    catalog,
    servers,
    visible: (caller: Caller, target: Target) => decide(caller, target).effect !== 'deny',
    serverVisible: (caller: Caller, server: string) => !hidesServer(now().policy, caller, server),
    rules: () => now().decide,
    listWaitMs,
  };
  const look = (caller: Caller, signal: AbortSignal) => startUnknownServers(view, caller, listWaitMs, signal);
  const names = profileNames({ ...view, now, discover: look });
  const resolve = names.resolving(resolver({ ...view, discover: look }));
  const priorityOf = (server: string) => now().configs.get(server)?.entry?.priority ?? 0;
  const counted = rates(() => now().limits, running.clock);
  const order = stages({
    audit: store.audit,
    traces: store.traces,
    subject: (call) => subjectOf(catalog.current(call.caller), call),
    decide,
    rates: counted,
    clock: wallClock,
  });
  let closing: Promise<void> | undefined;
  return {
    dispatch: pipeline({
      ...order,
      resolve(call) {
        const found = resolve(call);
        return found instanceof Promise ? found.then((target) => withTarget(call, target)) : withTarget(call, found);
      },
      invoke: readStages(
        invoke({ ...running, suspendedCalls: running.questions.suspendedCalls, priorityOf, admitTo: counted.admitTo }),
        { ...running, ...view },
      ),
    }),
    catalog: names.browsing(browse(view, resolve)),
    access: access({ store, config: () => now().config, clock: wallClock }),
    servers: administration({ ...running, clock: wallClock, audit: store.audit, policy: () => now().policy }),
    traces: {
      async stats(by, since, per = 'tool') {
        requireRole(by, ['owner', 'operator', 'auditor']);
        return store.traces.stats(since, per === 'tool' ? 'name' : 'server');
      },
    },
    async metrics(by) {
      requireRole(by, ['owner', 'operator', 'auditor']);
      return metrics.rows();
    },
    changes: changesFor(changes),
    onNotification(by, filter, handler) {
      requireRole(by, ['owner', 'operator']);
      return running.heard.on(filter, handler);
    },
    async doctor(by, server, signal) {
      const { openDoctor } = await import('./compose/doctor.ts');
      return openDoctor({ ...running, audit: store.audit, stages: stageNames(order) })(by, server, signal);
    },
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}
