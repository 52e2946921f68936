import type { Json, JsonObject } from '../core/call.ts';
import type { ValueOrigin } from './config.ts';
import { connectorsOf } from './merge-connectors.ts';
import type { Layer } from './read/layer.ts';
import { configSchema, type Settings, settingPaths } from './schema/schema.ts';

/** The settings in force, and where they are written. */
export interface MergedSettings {
  readonly inForce: Settings;
  readonly places: ReadonlyMap<string, ValueOrigin>;
}

export type MergeSettings = (layers: readonly Layer[], projectFolder: string) => MergedSettings;

/** Settings win one by one, but rules add up; what no layer says is default. */
export function mergeSettings(layers: readonly Layer[], projectFolder: string): MergedSettings {
  const places = new Map<string, ValueOrigin>();
  const chosen: Record<string, unknown> = {};
  const written = Map.groupBy(
    layers.flatMap(({ scope, settings }) => settings.map((setting) => ({ ...setting, scope }))),
    ({ path }) => path.join('.'),
  );
  for (const path of settingPaths) {
    const key = path.join('.');
    const [winner, ...others] = written.get(key) ?? [];
    if (winner === undefined) continue;
    places.set(key, { scope: winner.scope, at: winner.at, shadowed: others.map(({ scope, at }) => ({ scope, at })) });
    put(chosen, path, together(path, [winner, ...others]));
  }
  const { $schema: _, mcpServers: __, builtins, ...rest } = configSchema.parse(chosen);
  const { allowedPaths = [projectFolder], ...filesystem } = builtins.filesystem;
  const connectors = mergeConnectors(layers, places);
  const inForce: Settings = { ...rest, connectors, builtins: { filesystem: { ...filesystem, allowedPaths } } };
  return { inForce, places };
}

type Said = readonly [{ readonly value: Json }, ...{ readonly value: Json }[]];

function together([first]: readonly string[], said: Said): Json {
  if (first === 'permissions') return union(said);
  return first === 'profiles' ? byName(said) : said[0].value;
}

/** Each profile stands alone, as servers do: whoever comes first says all of it. */
const byName = (said: Said): Json =>
  Object.fromEntries(said.toReversed().flatMap(({ value }) => Object.entries(value as JsonObject)));

/** Rules add up: a project's list of what is denied does not take away the user's. */
const union = (written: readonly { readonly value: Json }[]): Json => [
  ...new Set(written.flatMap(({ value }) => value)),
];

/** Each connector stands alone, as servers do: a project's list does not take away the user's. */
function mergeConnectors(layers: readonly Layer[], places: Map<string, ValueOrigin>): Settings['connectors'] {
  const all = layers.flatMap(({ scope, connectors }) => connectors.map(({ name, at }) => ({ name, scope, at })));
  return connectorsOf(layers).map(({ name, url, token, variables, scope, at }) => {
    const shadowed = all.filter((other) => other.name === name).slice(1);
    places.set(`connectors.${name}`, {
      scope,
      at,
      shadowed: shadowed.map((other) => ({ scope: other.scope, at: other.at })),
    });
    return { name, url, variables, ...(token !== undefined && { token }) };
  });
}

function put(into: Record<string, unknown>, [first, ...rest]: readonly string[], value: Json): void {
  if (first === undefined) return;
  if (rest.length === 0) {
    into[first] = value;
    return;
  }
  const inner = (into[first] ?? {}) as Record<string, unknown>;
  into[first] = inner;
  put(inner, rest, value);
}
