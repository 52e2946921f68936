import type { Json } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { Config, Problem, ServerConfig, SourceFile } from './config.ts';
import { type ManagedRules, mergeServers } from './merge-servers.ts';
import type { MergeSettings } from './merge-settings.ts';
import type { Layer } from './read/layer.ts';
import { openTrust, type Trust, trustedServers } from './sources/trust.ts';

export interface Sources {
  readonly projectFolder: string;
  readonly files: readonly SourceFile[];
  /** The first layer that says something wins. */
  readonly layers: readonly Layer[];
  /** Of files that gave no layer. */
  readonly problems: readonly Problem[];
  /** Win over all layers but an organisation's. */
  readonly programmatic?: readonly ServerConfig[];
  readonly managed?: ManagedRules;
  /** What the user has agreed to; without it, everything. */
  readonly trust?: Trust;
  readonly mergeSettings: MergeSettings;
  readonly refreshed: Config['refreshed'];
}

const UNMANAGED: ManagedRules = { judges: [] };

/** Makes one configuration of all layers: a server's whole entry wins by name, settings win one by one. */
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
  const bound = managed.exclusive === undefined ? { layers, problems: [] } : withoutLoosening(layers);
  const settings = mergeSettings(bound.layers, projectFolder);
  let places: Config['places'] | undefined;
  return {
    projectFolder,
    files,
    servers: trustedServers(servers.byName, trust),
    untrusted: trust.refused,
    dropped: servers.dropped,
    settings: settings.inForce,
    // Thousands of them where there are hundreds of servers, and hardly ever looked at.
    get places() {
      places ??= new Map([...settings.places, ...servers.places()]);
      return places;
    },
    problems: [
      ...problems,
      ...layers.flatMap((layer) => layer.problems),
      ...bound.problems,
      ...servers.problems,
    ].filter(unsaid()),
    refreshed,
  };
}

/** Keeps the first of several problems that say the same of the same place: one file may be read for two reasons. */
function unsaid(): (problem: Problem) => boolean {
  const said = new Set<string>();
  return ({ message, at }) => {
    const key = JSON.stringify([message, at]);
    if (said.has(key)) return false;
    said.add(key);
    return true;
  };
}

// Where an organisation decides which servers there are, nobody else decides that fewer questions are asked.
function withoutLoosening(layers: readonly Layer[]): { layers: readonly Layer[]; problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const bound = layers.map((layer) => {
    if (layer.scope === 'enterprise') return layer;
    const [loose = [], kept = []] = [true, false].map((wanted) =>
      layer.settings.filter((setting) => loosens(setting) === wanted),
    );
    problems.push(...loose.map(ignored));
    return { ...layer, settings: kept, connectors: [] };
  });
  return { layers: bound, problems };
}

function loosens({ path, value }: Layer['settings'][number]): boolean {
  const key = path.join('.');
  if (key === 'profiles' && isObject(value)) return Object.values(value).some((profile) => allowsMore(profile));
  return (key === 'mode' && value === 'open') || (key === 'permissions.allow' && isFilled(value));
}

const isFilled = (value: Json | undefined) => Array.isArray(value) && value.length > 0;

const allowsMore = (profile: Json | undefined) =>
  isObject(profile) && isObject(profile.permissions) && isFilled(profile.permissions.allow);

function ignored({ path, at }: Layer['settings'][number]): Problem {
  const message = `\`${path.join('.')}\` has no effect here: this machine is managed, and it would mean fewer questions.`;
  return { level: 'warn', code: 'CONFIG_INVALID', message, fix: 'Remove it, or ask who manages this machine.', at };
}
