import type { Json, JsonObject } from '../core/call.ts';
import type { ValueOrigin } from './config.ts';
import { connectorsOf } from './merge-connectors.ts';
import type { Layer, LayerSetting } from './read/layer.ts';
import { builtinsIn } from './schema/default-settings.ts';
import { configSchema, type Settings, settingPaths } from './schema/schema.ts';

/** The settings in force, and the origins of those that a file sets. */
export interface MergedSettings {
  readonly inForce: Settings;
  readonly origins: ReadonlyMap<string, ValueOrigin>;
}

export type MergeSettings = (layers: readonly Layer[], projectFolder: string) => MergedSettings;

/**
 * Merges the settings of all layers. Each setting is that of the first layer that has it, except the lists of
 * `UNITED` and the connections of databases. A setting of no layer has its default.
 */
export function mergeSettings(layers: readonly Layer[], projectFolder: string): MergedSettings {
  const origins = new Map<string, ValueOrigin>();
  const chosen: Record<string, unknown> = {};
  const written = Map.groupBy(
    layers.flatMap(({ scope, settings }) => settings.map((setting) => ({ ...setting, scope }))),
    ({ path }) => path.join('.'),
  );
  for (const path of settingPaths) {
    const key = path.join('.');
    const [winner, ...others] = withMinimum(written.get(key) ?? []).toSorted(forcedFirst);
    if (winner === undefined) continue;
    origins.set(key, { scope: winner.scope, at: winner.at, shadowed: others.map(({ scope, at }) => ({ scope, at })) });
    put(chosen, path, combine(path, [winner, ...others]));
  }
  const { $schema: _, mcpServers: __, builtins, ...rest } = configSchema.parse(chosen);
  const connectors = mergeConnectors(layers, origins);
  const inForce: Settings = { ...rest, connectors, builtins: builtinsIn(builtins, projectFolder) };
  return { inForce, origins };
}

/** Keeps a minimum only where the strongest other value is `open`, or drops it. */
function withMinimum<T extends Pick<LayerSetting, 'value' | 'isMinimum'>>(settings: readonly T[]): readonly T[] {
  const others = settings.filter(({ isMinimum }) => !isMinimum);
  return others[0]?.value === 'open' ? settings : others;
}

/** Sorts values that replace invalid rules before all others. */
const forcedFirst = (a: { isForced?: true }, b: { isForced?: true }): number =>
  Number(b.isForced ?? false) - Number(a.isForced ?? false);

type LayerValues = readonly [{ readonly value: Json }, ...{ readonly value: Json }[]];

/** The lists whose items of all layers count, those of the strongest layer first. */
const UNITED: ReadonlySet<string> = new Set([
  'permissions.allow',
  'permissions.ask',
  'permissions.deny',
  'approvals.sensitiveWords',
  'approvals.rules',
  'approvals.standing',
  'hooks.beforeCall',
  'hooks.afterCall',
  'hooks.beforeInputRequest',
  'hooks.afterInputResponse',
  'hooks.onApproval',
]);

function combine(path: readonly string[], values: LayerValues): Json {
  if (UNITED.has(path.join('.'))) return union(values);
  if (path.join('.') === 'builtins.database.connections') return byItemName(values);
  return path[0] === 'profiles' || path[0] === 'workflows' ? byName(values) : values[0].value;
}

/** Merges profiles or workflows by name: the first layer that has a name gives the whole one. */
const byName = (values: LayerValues): Json =>
  Object.fromEntries(values.toReversed().flatMap(({ value }) => Object.entries(value as JsonObject)));

/** Unites connections by name: the first layer that has a name gives the whole connection, with its credentials. */
function byItemName(values: LayerValues): Json {
  const all = values.flatMap(({ value }) => value as readonly JsonObject[]);
  return all.filter(({ name }, at) => all.findIndex((other) => other.name === name) === at);
}

/** Unites lists: a project's `deny` list or sensitive words do not replace the user's. */
const union = (written: readonly { readonly value: Json }[]): Json => [
  ...new Set(written.flatMap(({ value }) => value)),
];

/** Merges connectors by name: a project's list does not replace the user's. */
function mergeConnectors(layers: readonly Layer[], origins: Map<string, ValueOrigin>): Settings['connectors'] {
  const all = layers.flatMap(({ scope, connectors }) => connectors.map(({ name, at }) => ({ name, scope, at })));
  return connectorsOf(layers).map(({ name, url, token, variables, scope, at }) => {
    const shadowed = all.filter((other) => other.name === name).slice(1);
    origins.set(`connectors.${name}`, {
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
