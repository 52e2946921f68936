import type { Json } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { Config, LoadedPolicy, Problem, ServerConfig, SourceFile, ValueOrigin } from './config.ts';
import { type ManagedRules, mergeServers } from './merge-servers.ts';
import type { MergeSettings } from './merge-settings.ts';
import type { Layer } from './read/layer.ts';
import { strictFiles } from './read/strict-by-error.ts';
import { openTrust, type Trust, trustedServers } from './sources/trust.ts';

/** Input of `mergeConfig`. */
export interface Sources {
  readonly projectFolder: string;
  readonly files: readonly SourceFile[];
  /** The layers, highest precedence first. */
  readonly layers: readonly Layer[];
  /** Problems of files that gave no layer. */
  readonly problems: readonly Problem[];
  /** Servers that win over all layers except an organisation's. */
  readonly programmatic?: readonly ServerConfig[];
  readonly managed?: ManagedRules;
  /** The user's trust decisions; without them everything is trusted. */
  readonly trust?: Trust;
  readonly mergeSettings: MergeSettings;
  readonly refreshed: Config['refreshed'];
  readonly policies?: Pick<Config, 'policies' | 'conditions' | 'onlyManagedAllow'>;
  readonly watched?: Config['watched'];
  readonly workflows?: Config['workflows'];
}

/** The most problems listed for one file. One value of it has at most 100. */
const MAX_PROBLEMS = 250;
const UNMANAGED: ManagedRules = { judges: [] };

/** Merges all layers into one configuration: servers by name, as whole entries; settings one by one. */
export function mergeConfig(sources: Sources): Config {
  const {
    projectFolder,
    files,
    layers,
    problems,
    programmatic = [],
    managed = UNMANAGED,
    mergeSettings,
    refreshed,
  } = sources;
  const { trust = openTrust(() => true) } = sources;
  const servers = mergeServers({ layers, programmatic, managed });
  const { policies = [], conditions, onlyManagedAllow = false } = sources.policies ?? {};
  const isExclusive = managed.exclusive !== undefined;
  const bound = isExclusive || onlyManagedAllow ? withoutLoosening(layers, isExclusive) : { layers, problems: [] };
  const settings = mergeSettings(bound.layers, projectFolder);
  let origins: Config['origins'] | undefined;
  return {
    projectFolder,
    files,
    servers: trustedServers(servers.byName, trust),
    untrusted: trust.untrusted,
    dropped: servers.dropped,
    settings: policies.length === 0 ? settings.inForce : { ...settings.inForce, policies: policies.map(asWritten) },
    policies,
    ...(conditions && { conditions }),
    onlyManagedAllow,
    ...(layers.some((layer) => strictFiles(layer).length > 0) && { hasInvalidRules: true }),
    ...(sources.watched && { watched: sources.watched }),
    ...(sources.workflows && { workflows: sources.workflows }),
    // Computed on first use: hundreds of servers have thousands of origins, and few commands read them.
    get origins() {
      origins ??= new Map([...settings.origins, ...policyOrigin(policies), ...servers.origins()]);
      return origins;
    },
    problems: limited(
      [...problems, ...layers.flatMap((layer) => layer.problems), ...bound.problems, ...servers.problems].filter(
        isFirst(),
      ),
    ),
    refreshed,
    ...(managed.exclusive && { exclusive: managed.exclusive }),
  };
}

const asWritten = ({ scope: _, at: __, condition: ___, ...rule }: LoadedPolicy) => rule;

/** Returns the origin of `policies`: the place of the first rule, and of the first of each other file. */
function policyOrigin(policies: readonly LoadedPolicy[]): readonly (readonly [string, ValueOrigin])[] {
  const byFile = Map.groupBy(policies, ({ at }) => at.file);
  const [first, ...shadowed] = [...byFile.values()].flatMap(([rule]) =>
    rule ? [{ scope: rule.scope, at: rule.at }] : [],
  );
  return first ? [['policies', { ...first, shadowed }]] : [];
}

/** Returns a filter that drops repeated problems: one file may be read for two reasons. */
function isFirst(): (problem: Problem) => boolean {
  const seen = new Set<string>();
  return ({ message, at }) => {
    const key = JSON.stringify([message, at]);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  };
}

/** Returns at most 250 problems of each file, and the number of the others. Every command prints them. */
function limited(problems: readonly Problem[]): readonly Problem[] {
  if (problems.length <= MAX_PROBLEMS) return problems;
  const byFile = Map.groupBy(problems, ({ at }) => at?.file);
  return [...byFile].flatMap(([file, ofFile]) => {
    const [first, ...others] = ofFile.slice(MAX_PROBLEMS);
    if (file === undefined || !first) return ofFile;
    const level = [first, ...others].some((one) => one.level === 'error') ? 'error' : 'warn';
    const message = `${file} has ${others.length + 1} more problems after the first ${MAX_PROBLEMS}.`;
    return [...ofFile.slice(0, MAX_PROBLEMS), { ...first, level, message, fix: 'Correct the others first.' }];
  });
}

// On a machine with managed policies or `exclusive` managed servers, only the organisation may lower the number of approvals.
function withoutLoosening(
  layers: readonly Layer[],
  isExclusive: boolean,
): { layers: readonly Layer[]; problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const bound = layers.map((layer) => {
    if (layer.scope === 'enterprise') return layer;
    const [loose = [], strict = []] = [true, false].map((wanted) =>
      layer.settings.filter((setting) => (loosens(setting) || (isExclusive && addsDatabase(setting))) === wanted),
    );
    problems.push(...loose.map(ignored));
    return { ...layer, settings: strict, ...(isExclusive && { connectors: [] }) };
  });
  return { layers: bound, problems };
}

function loosens({ path, value }: Layer['settings'][number]): boolean {
  const key = path.join('.');
  if (key === 'profiles' && isObject(value)) return Object.values(value).some((profile) => allowsMore(profile));
  const isLoose = key === 'permissions.allow' || key === 'approvals.standing';
  return (key === 'mode' && value === 'open') || (isLoose && isFilled(value));
}

/** Tests whether a setting adds databases. Like servers, only those of the organisation may exist if it excludes others. */
const addsDatabase = ({ path, value }: Layer['settings'][number]) =>
  path.join('.') === 'builtins.database.connections' && isFilled(value);

const isFilled = (value: Json | undefined) => Array.isArray(value) && value.length > 0;

const allowsMore = (profile: Json | undefined) =>
  isObject(profile) && isObject(profile.permissions) && isFilled(profile.permissions.allow);

function ignored({ path, at }: Layer['settings'][number]): Problem {
  const message = `\`${path.join('.')}\` has no effect: this machine is managed, and the setting would allow more tools.`;
  const fix = 'Remove it, or ask the administrator of this machine.';
  return { level: 'warn', code: 'CONFIG_INVALID', message, fix, at };
}
