import { homedir } from 'node:os';
import { parse as parsePath } from 'node:path';
import { type Owners, ownersOf } from '../catalog/live-catalog.ts';
import type { Config, ServerConfig } from '../config/config.ts';
import { HeddleError } from '../core/errors.ts';
import { type Decide, decider, type Policy, policyOf } from '../govern/decide.ts';
import { type RateLimits, rateLimitsOf } from '../govern/rate-limit.ts';
import type { ServerPlan } from '../upstream/lifecycle/plan-server.ts';

/** What follows from one reading of the configuration; replaced whole by the next. */
export interface ActiveConfig {
  readonly config: Config;
  readonly configs: ReadonlyMap<string, ServerConfig>;
  readonly policy: Policy;
  readonly decide: Decide;
  readonly limits: RateLimits;
}

/** What cannot be called is not listed, whatever it had when it last could. */
export function callable(configs: ActiveConfig['configs'], plans: readonly ServerPlan[]): Owners {
  const reachable = new Set(plans.flatMap(({ name, connect }) => (HeddleError.is(connect) ? [] : [name])));
  return new Map([...ownersOf(configs)].filter(([name]) => reachable.has(name)));
}

/** Standing at the top of the disk or of the user's folder is no wish to show all of it to a model. */
function isTooWide({ projectFolder, settings }: Config): boolean {
  const chosen = settings.builtins.filesystem.allowedPaths.some((path) => path !== projectFolder);
  return !chosen && [parsePath(projectFolder).root, homedir()].includes(projectFolder);
}

/** What is configured takes the place of what comes with Heddle. */
export function activeConfigOf(config: Config, builtin: readonly ServerConfig[]): ActiveConfig {
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
