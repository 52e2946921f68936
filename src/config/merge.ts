import type { Json } from '../core/call.ts';
import type { Config, Origin, Problem, Scope, ServerConfig, Shadow, SourceFile } from './config.ts';
import type { Layer, LayerServer } from './layer.ts';
import { configSchema, type Settings, settingPaths } from './schema.ts';

interface Sources {
  readonly projectFolder: string;
  readonly files: readonly SourceFile[];
  /** The first layer that says something wins. */
  readonly layers: readonly Layer[];
  /** Of files that gave no layer. */
  readonly problems: readonly Problem[];
}

/** Makes one configuration of all layers: a server's whole entry wins by name, settings win one by one. */
export function mergeConfig({ projectFolder, files, layers, problems }: Sources): Config {
  const servers = mergeServers(layers);
  const settings = mergeSettings(layers, projectFolder);
  return {
    projectFolder,
    files,
    servers: servers.byName,
    settings: settings.inForce,
    places: new Map([...settings.places, ...servers.places]),
    problems: [...problems, ...layers.flatMap((layer) => layer.problems), ...servers.problems],
  };
}

function mergeServers(layers: readonly Layer[]) {
  const written = Map.groupBy(
    layers.flatMap(({ scope, servers }) => servers.map((server) => ({ ...server, scope }))),
    ({ name }) => name,
  );
  const byName = new Map<string, ServerConfig>();
  const places = new Map<string, Origin>();
  const problems: Problem[] = [];
  for (const [name, [winner, ...others]] of written) {
    if (winner === undefined) continue;
    const shadowed = others.map(({ scope, at }) => ({ scope, at }));
    byName.set(name, toServer(winner, shadowed));
    for (const [field, at] of winner.places) {
      places.set(serverKey(name, field), { scope: winner.scope, at, shadowed });
    }
    // What is wrong with an entry that is not in force can wait.
    const idle = others.flatMap((other) => other.problems.map((problem) => ({ ...problem, level: 'warn' as const })));
    problems.push(...winner.problems, ...idle);
  }
  return { byName, places, problems };
}

function toServer(winner: LayerServer & { readonly scope: Scope }, shadowed: readonly Shadow[]): ServerConfig {
  const { name, scope, at, entry } = winner;
  const problem = winner.problems.find(({ level }) => level === 'error');
  return { name, scope, at, shadowed, ...(entry && { entry }), ...(problem && { problem }) };
}

function serverKey(name: string, field: string): string {
  return field === '' ? `mcpServers.${name}` : `mcpServers.${name}.${field}`;
}

function mergeSettings(layers: readonly Layer[], projectFolder: string) {
  const places = new Map<string, Origin>();
  const chosen: Record<string, unknown> = {};
  for (const path of settingPaths) {
    const key = path.join('.');
    const [winner, ...others] = layers.flatMap(({ scope, settings }) =>
      settings.filter((setting) => setting.path.join('.') === key).map(({ value, at }) => ({ scope, value, at })),
    );
    if (winner === undefined) continue;
    places.set(key, { scope: winner.scope, at: winner.at, shadowed: others.map(({ scope, at }) => ({ scope, at })) });
    put(chosen, path, winner.value);
  }
  const { $schema: _, mcpServers: __, builtins, ...rest } = configSchema.parse(chosen);
  const { allowedPaths = [projectFolder], ...filesystem } = builtins.filesystem;
  const inForce: Settings = { ...rest, builtins: { filesystem: { ...filesystem, allowedPaths } } };
  return { inForce, places };
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
