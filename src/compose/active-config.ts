import { type ExtensionMethods, extensionMethodsOf } from '../catalog/extensions/extension-methods.ts';
import { type Owners, ownersOf } from '../catalog/live-catalog.ts';
import type { Config, ServerConfig } from '../config/config.ts';
import { HeddleError } from '../core/errors.ts';
import type { Clock } from '../core/time.ts';
import { type Decide, decider, type Policy, policyOf } from '../govern/decide.ts';
import { type RateLimits, rateLimitsOf } from '../govern/rate-limit.ts';
import type { ServerPlan } from '../upstream/lifecycle/plan-server.ts';
import type { BuiltIn } from './built-ins/built-in.ts';

/** The configuration in force and what is derived from it. The next read replaces it as a whole. */
export interface ActiveConfig {
  readonly config: Config;
  readonly configs: ReadonlyMap<string, ServerConfig>;
  readonly policy: Policy;
  readonly decide: Decide;
  readonly limits: RateLimits;
  /** The methods of extensions that server entries list. */
  readonly methods: ExtensionMethods;
  /** True if a rule looks at the labels of sessions. Without one, no labels are kept. */
  readonly looksAtTaint: boolean;
}

/** Returns the owners of the servers that can be connected. The entries of all others are not listed. */
export function callable(configs: ActiveConfig['configs'], plans: readonly ServerPlan[]): Owners {
  const reachable = new Set(plans.flatMap(({ name, connect }) => (HeddleError.is(connect) ? [] : [name])));
  return new Map([...ownersOf(configs)].filter(([name]) => reachable.has(name)));
}

/** Derives the active configuration. A configured server replaces the built-in server of its name. */
export function activeConfigOf(config: Config, builtIns: readonly BuiltIn[], clock: Clock): ActiveConfig {
  const shipped = builtIns.flatMap((builtIn) => builtIn.configOf(config) ?? []);
  const unreplaced = shipped.filter(({ name }) => !config.servers.has(name));
  const configs = new Map([...config.servers, ...unreplaced.map((server) => [server.name, server] as const)]);
  const policy = policyOf(config.settings, configs, config);
  const limits = rateLimitsOf(config.settings, configs);
  const methods = extensionMethodsOf(ownersOf(configs));
  return {
    config,
    configs,
    policy,
    decide: decider(policy, clock),
    limits,
    methods,
    looksAtTaint: looksAtTaint(config),
  };
}

function looksAtTaint({ policies = [], conditions = new Map() }: Config): boolean {
  const all = [...policies.flatMap(({ condition }) => condition ?? []), ...conditions.values()];
  return all.some(({ variables }) => variables.has('taint'));
}
