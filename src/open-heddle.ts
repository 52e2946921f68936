import { homedir } from 'node:os';
import { join, parse as parsePath, resolve as resolvePath } from 'node:path';
import { invoke } from './catalog/invoke.ts';
import { discover, pageOf } from './catalog/list.ts';
import { type LiveCatalog, liveCatalog, type Owners, ownersOf } from './catalog/refresh.ts';
import { resolver, withTarget } from './catalog/resolve.ts';
import type { Config, Problem, ServerConfig } from './config/config.ts';
import { examineConfig } from './config/examine.ts';
import { followConfig } from './config/follow.ts';
import { loadConfig } from './config/load.ts';
import { requireFile } from './config/require-file.ts';
import { trustFile } from './config/trust-file.ts';
import type { Caller, Target } from './core/call.ts';
import { requireRole } from './core/caller.ts';
import type { Clock } from './core/clock.ts';
import { HeddleError } from './core/errors.ts';
import { type Feed, feed } from './core/feed.ts';
import type { Finding } from './core/finding.ts';
import type { Change, ServerStatus } from './core/server-status.ts';
import { type Decide, decider, deniesServer, type Policy, policyOf } from './govern/decide.ts';
import { pipeline } from './govern/pipeline.ts';
import { type RateLimits, rateLimitsOf } from './govern/rate-limit.ts';
import { stageNames, stages } from './govern/stages.ts';
import type { Heddle } from './heddle.ts';
import { openWatchdog } from './process/watchdog.ts';
import { examineAudit } from './store/examine.ts';
import { openStore } from './store/open-store.ts';
import type { Secrets } from './store/secrets.ts';
import type { Store } from './store/store.ts';
import type { Serve } from './upstream/connect-in-memory.ts';
import { examineServer } from './upstream/examine.ts';
import { FILESYSTEM, type Given, givenConfigs, inProcessOf, inProcessServer } from './upstream/given.ts';
import { httpPool } from './upstream/http-pool.ts';
import { planServer } from './upstream/plan.ts';
import type { ServerPlan } from './upstream/server.ts';
import { openServers, type Servers } from './upstream/servers.ts';

export interface OpenOptions {
  /** The only file to read, instead of those of the project and the user. */
  readonly configFile?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Servers besides the configured ones: entries as in `mcpServers`, or in-process servers. */
  readonly servers?: Given;
  /** Who brings those: the program that embeds Heddle, or somebody at its command line. */
  readonly scope?: 'sdk' | 'command';
  /** Believe what came with the project's folder without asking the user. */
  readonly trustProject?: boolean;
  readonly clock?: Clock;
  /** Told what is wrong with the configuration. The rest of it is in force all the same. */
  readonly onProblems?: (problems: readonly Problem[]) => void;
  /** Read the configuration again when one of its files changes. */
  readonly watch?: boolean;
}

const LIST_WAIT_MS = 2000;
const PAGE_SIZE = 1000;

/** Where Heddle keeps what is the user's: `$HEDDLE_HOME`, or `~/.heddle`. */
export const homeFolder = (env: Readonly<Record<string, string | undefined>>): string =>
  resolvePath(env.HEDDLE_HOME || join(homedir(), '.heddle'));

/** Reads the configuration that `openHeddle` would use. */
export async function readConfig(options: OpenOptions = {}, signal?: AbortSignal): Promise<Config> {
  const { configFile: file, cwd = process.cwd(), env = process.env, trustProject } = options;
  const home = homeFolder(env);
  return loadConfig({
    cwd,
    home,
    env,
    userHome: homedir(),
    given: await givenConfigs(options.servers ?? {}, options.scope ?? 'sdk'),
    secrets: async (names) => (await import('./store/secret-store.ts')).readSecretsFor(names, { home, env }),
    ...(!trustProject && { trust: async () => (await import('./config/trust-book.ts')).openTrustBook(home) }),
    ...(file !== undefined && { file }),
    ...(signal && { signal }),
  });
}

/** Opens the secrets that configurations name as `${secret:name}`. */
export async function openSecretStore(env: NonNullable<OpenOptions['env']> = process.env): Promise<Secrets> {
  const { openSecrets } = await import('./store/secret-store.ts');
  return openSecrets({ home: homeFolder(env), env });
}

/** Puts all parts together. Nothing is started yet but what asks for `autoConnect`. */
export async function openHeddle(options: OpenOptions = {}): Promise<Heddle> {
  const { env = process.env, clock = Date.now } = options;
  const closing = new AbortController();
  const config = await readConfig(options, closing.signal);
  requireFile(config, options.configFile);
  options.onProblems?.(config.problems);
  const store = await openStore({ location: config.settings.store ?? join(homeFolder(env), 'heddle.sqlite'), clock });
  try {
    return await assemble({ config, store, options, env, clock, closing });
  } catch (thrown) {
    closing.abort();
    await store.close();
    throw thrown;
  }
}

/** What follows from one reading of the configuration; replaced whole by the next. */
interface Situation {
  readonly config: Config;
  readonly configs: ReadonlyMap<string, ServerConfig>;
  readonly policy: Policy;
  readonly decide: Decide;
  readonly limits: RateLimits;
}

interface Parts {
  readonly config: Config;
  readonly store: Store;
  readonly options: OpenOptions;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly closing: AbortController;
}

interface Running {
  readonly now: () => Situation;
  readonly store: Store;
  readonly changes: Feed<Change>;
  readonly catalog: LiveCatalog;
  readonly servers: Servers;
  readonly clock: Clock;
}

async function assemble({ config, store, options, env, clock, closing }: Parts): Promise<Heddle> {
  const inProcess = inProcessOf(options.servers ?? {});
  const builtin = builtIns(() => situation.config, inProcess, env);
  let situation = situationOf(config, builtin);

  const changes = feed<Change>();
  const watchdog = openWatchdog();
  const pool = httpPool();
  const planAll = () =>
    [...situation.configs.values()].map((server) => planServer(server, { watchdog, pool, env, inProcess }));
  const plans = planAll();
  const byName = new Map(plans.map((plan) => [plan.name, plan]));
  const memories = (await store.servers.all()).filter((one) => byName.get(one.server)?.signature === one.signature);
  const onChange = () => changes.publish({ kind: 'catalog', subject: 'tools', detail: {} });
  const catalog = liveCatalog({ owners: callable(situation.configs, plans), remembered: memories, onChange });
  const servers = openServers({
    plans,
    memories,
    book: store.servers,
    ...config.settings.connect,
    clock,
    onStatus: (status) => changes.publish({ kind: 'server', subject: status.name, detail: { ...status } }),
    onTools: (server, tools) => catalog.update(server, tools),
  });
  servers.start();

  const apply = (read: Config) => {
    situation = situationOf(read, builtin);
    const next = planAll();
    servers.update(next);
    catalog.configure(callable(situation.configs, next));
    changes.publish({ kind: 'config', subject: 'configuration', detail: { problems: read.problems.length } });
  };
  const { onProblems = () => {} } = options;
  const read = () => readConfig(options, closing.signal);
  const also = [trustFile(homeFolder(env))];
  const following = options.watch && followConfig({ first: config, read, also, apply, onProblems });
  return govern({ now: () => situation, store, changes, catalog, servers, clock }, async () => {
    closing.abort();
    if (following) following.close();
    changes.close();
    await servers.close();
    await pool.close();
    watchdog.close();
    await store.close();
  });
}

/** What cannot be called is not listed, whatever it had when it last could. */
function callable(configs: Situation['configs'], plans: readonly ServerPlan[]): Owners {
  const reachable = new Set(plans.flatMap(({ name, connect }) => (HeddleError.is(connect) ? [] : [name])));
  return new Map([...ownersOf(configs)].filter(([name]) => reachable.has(name)));
}

/** Standing at the top of the disk or of the user's folder is no wish to show all of it to a model. */
function isTooWide({ projectFolder, settings }: Config): boolean {
  const chosen = settings.builtins.filesystem.allowedPaths.some((path) => path !== projectFolder);
  return !chosen && [parsePath(projectFolder).root, homedir()].includes(projectFolder);
}

/** What is configured takes the place of what comes with Heddle. */
function situationOf(config: Config, builtin: readonly ServerConfig[]): Situation {
  const { enabled, allowedPaths } = config.settings.builtins.filesystem;
  const description = `Files below ${allowedPaths.join(', ')}`;
  const shipped = builtin.flatMap(({ entry, ...rest }): ServerConfig[] =>
    enabled && entry && !isTooWide(config) ? [{ ...rest, entry: { ...entry, description } }] : [],
  );
  const unreplaced = shipped.filter(({ name }) => !config.servers.has(name));
  const configs = new Map([...config.servers, ...unreplaced.map((server) => [server.name, server] as const)]);
  const policy = policyOf(config.settings, configs);
  return { config, configs, policy, decide: decider(policy), limits: rateLimitsOf(config.settings, configs) };
}

function govern(running: Running, shutDown: () => Promise<void>): Heddle {
  const { now, store, changes, catalog, servers, clock } = running;
  const decide: Decide = (caller, target, input) => now().decide(caller, target, input);
  const view = {
    catalog,
    servers,
    visible: (caller: Caller, target: Target) => decide(caller, target).effect !== 'deny',
    serverVisible: (_caller: Caller, server: string) => !deniesServer(now().policy, server),
  };
  const resolve = resolver({
    ...view,
    discover: (caller, signal) => discover(view, caller, LIST_WAIT_MS, signal),
  });
  const order = stages({ audit: store.audit, traces: store.traces, decide, limits: () => now().limits, clock });
  let closing: Promise<void> | undefined;

  return {
    dispatch: pipeline({
      ...order,
      resolve: async (call) => withTarget(call, await resolve(call)),
      invoke: invoke(servers),
    }),
    catalog: {
      async list(by, { cursor, limit = PAGE_SIZE, waitMs = LIST_WAIT_MS }) {
        await discover(view, by, waitMs, new AbortController().signal);
        return pageOf(view, by, cursor === undefined ? { limit } : { cursor, limit });
      },
      describe: (by, name, signal) => resolve({ name, caller: by, signal }),
    },
    servers: { list: async () => servers.status(), connect: connector(running) },
    traces: {
      async stats(by, since) {
        requireRole(by, ['owner', 'operator', 'auditor']);
        return store.traces.stats(since);
      },
    },
    changes: (_by, signal) => changes.read(signal),
    async doctor(by, server, signal) {
      requireRole(by, ['owner', 'operator']);
      if (server !== undefined) return [await examineServer(servers, server, signal)];
      return Promise.all([
        runtime(),
        ...examineConfig(now().config),
        examineAudit(store.audit, signal),
        { level: 'ok' as const, subject: 'pipeline', message: stageNames(order).join(' → ') },
        ...servers.status().map(({ name }) => examineServer(servers, name, signal)),
      ]);
    },
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}

function connector({ servers, store, clock }: Running): Heddle['servers']['connect'] {
  return async function connect(by, name, signal) {
    requireRole(by, ['owner', 'operator']);
    const who = { caller: by.id, via: by.via, at: clock() };
    store.audit.append({ ...who, callId: '', phase: 'intent', name: 'servers.connect', detail: { server: name } });
    await servers.connect(name, signal).catch((thrown) => {
      if (HeddleError.from(thrown).code === 'NAME_UNKNOWN') throw thrown; // Any other failure is a status.
    });
    return servers.status().find((one) => one.name === name) as ServerStatus;
  };
}

const runtime = (): Finding => ({
  level: 'ok',
  subject: 'node',
  message: `${process.version} on ${process.platform} ${process.arch}`,
});

/** The servers that come with Heddle. Their privileges belong to these objects, not to their names. */
function builtIns(config: () => Config, inProcess: Map<string, Serve>, env: Parts['env']): readonly ServerConfig[] {
  inProcess.set(FILESYSTEM, async (line) => {
    const { allowedPaths, maxFileBytes } = config().settings.builtins.filesystem;
    const { serveFilesystem } = await import('./builtin/filesystem/serve-filesystem.ts');
    await serveFilesystem(line, { roots: allowedPaths, maxFileBytes, hidden: [homeFolder(env)] });
  });
  return [inProcessServer('filesystem', FILESYSTEM, 'builtin')];
}
