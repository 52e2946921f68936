import { join, resolve } from 'node:path';
import { assembleHeddle } from './compose/assemble-heddle.ts';
import { type Environment, type HeddleOptions, wallClockOf } from './compose/heddle-options.ts';
import type { Config, ServerConfig } from './config/config.ts';
import { requireSources } from './config/config-source.ts';
import { requireFile } from './config/read/require-file.ts';
import { readConfig } from './config/read-config.ts';
import { resolveLinks } from './config/sources/project-folder.ts';
import { trustFile } from './config/sources/trust-file.ts';
import { newCallId } from './core/call/call-id.ts';
import type { Caller, JsonObject } from './core/call.ts';
import { HeddleError } from './core/errors.ts';
import type { RunOrigin } from './core/records/run.ts';
import { steadyClock } from './core/time.ts';
import { homeFolder } from './files/home-folder.ts';
import type { Heddle } from './heddle.ts';
import { openStore } from './store/open-store.ts';
import type { Secrets } from './store/secrets/secrets.ts';
import type { Store } from './store/store.ts';
import { toServerConfigs } from './upstream/lifecycle/programmatic-servers.ts';

export type { HeddleOptions } from './compose/heddle-options.ts';

/** Opens the secrets that configurations name as `${secret:name}`. */
export async function openSecretStore(env: Environment = process.env): Promise<Secrets> {
  const { openSecrets } = await import('./store/secrets/open-secrets.ts');
  return openSecrets({ home: homeFolder(env), env });
}

/** Opens an http(s) URL in the user's browser. Returns false if there is none. */
export async function openBrowser(url: string, env: Environment = process.env): Promise<boolean> {
  const { openUrl } = await import('./process/open-url.ts');
  return openUrl(url, { env });
}

/** Opens Heddle. Only servers with `autoConnect` are started now. */
export async function openHeddle(options: HeddleOptions = {}): Promise<Heddle> {
  const { env = process.env, clock = steadyClock } = options;
  const closing = new AbortController();
  requireOneConfig(options);
  const own = await toServerConfigs(options.servers ?? {}, options.scope ?? 'sdk');
  const lastPolicies = new Map();
  const read = (registered: readonly ServerConfig[]): Promise<Config> =>
    readConfig({ ...options, programmatic: [...own, ...registered], signal: closing.signal, lastPolicies });
  // Taken before the first read, so that an agreement written during the read is noticed.
  const trustVersion = options.watch
    ? await (await import('./config/watch-files.ts')).versionNow(trustFile(homeFolder(env)))
    : '';
  const config = await read([]);
  requireFile(config);
  options.onProblems?.(config.problems);
  const location = storeLocation(config, options);
  const store = await storeOf(config, options);
  try {
    const opened = { store, storeLocation: location, origin: await originOf(config, options) };
    return await assembleHeddle({ config, trustVersion, read, ...opened, options, env, clock, closing });
  } catch (thrown) {
    closing.abort();
    await store.close();
    throw thrown;
  }
}

/** An administrative act outside of the store: a command has changed a file. */
export interface AdministrativeAct {
  readonly name: string;
  /** Without secrets. */
  readonly detail: JsonObject;
}

/** Writes the audit record of an administrative act, in the store of the configuration. */
export async function recordAct(by: Caller, act: AdministrativeAct, options: HeddleOptions = {}): Promise<void> {
  const store = await storeOf(await readConfig(options), options);
  const { id: caller, via } = by;
  try {
    const at = wallClockOf(options)();
    await store.audit.appendDurably({ callId: newCallId(), phase: 'outcome', at, caller, via, ...act });
  } finally {
    await store.close();
  }
}

function storeOf(config: Config, options: HeddleOptions): Promise<Store> {
  const { env = process.env } = options;
  const home = homeFolder(env);
  const location = storeLocation(config, options);
  const { durability } = config.settings.audit;
  return openStore({ location, clock: wallClockOf(options), durability, home, env });
}

function requireOneConfig({ config, configFile, sources }: HeddleOptions): void {
  if (sources !== undefined) requireSources(sources);
  const given = Object.entries({ config, configFile, sources }).flatMap(([name, one]) =>
    one === undefined ? [] : name,
  );
  const [first, second] = given;
  if (second === undefined) return;
  throw new HeddleError('USAGE_INVALID', `\`${first}\` and \`${second}\` exclude each other.`, {
    fix: 'Pass the configuration as `config`, the path of its file as `configFile`, or a list of `sources`.',
  });
}

/** Returns the origin of the runs that begin here. No file has the `config`, `sources`, `servers` and `hooks` of a program. */
async function originOf({ projectFolder }: Config, options: HeddleOptions): Promise<RunOrigin> {
  const { config, configFile, sources, servers, scope = 'sdk', hooks, cwd = '.' } = options;
  const hasServers = servers !== undefined && scope === 'sdk';
  const isProgram = hasServers || [config, sources, hooks].some((one) => one !== undefined);
  return {
    folder: await resolveLinks(projectFolder),
    ...(configFile !== undefined && { file: await resolveLinks(resolve(cwd, configFile)) }),
    ...(isProgram && { program: true }),
  };
}

/** Returns the location of the store: the `store` option, the setting, or a file in Heddle's folder. */
function storeLocation(config: Config, options: HeddleOptions): string {
  return chosenStore(options, config) ?? join(homeFolder(options.env ?? process.env), 'heddle.sqlite');
}

/** Returns the `store` option, with a file path made absolute. The setting wins if an organisation's file sets it. */
function chosenStore({ store, cwd = '.' }: HeddleOptions, { settings, origins }: Config): string | undefined {
  if (store === undefined || origins.get('store')?.scope === 'enterprise') return settings.store;
  const isPath = store !== ':memory:' && !store.includes('://');
  return isPath ? resolve(cwd, store) : store;
}
