import type {
  DroppedServer,
  PolicyVerdict,
  Problem,
  Scope,
  ServerConfig,
  Shadow,
  SourceLocation,
  ValueOrigin,
} from './config.ts';
import type { Layer, LayerServer } from './read/layer.ts';
import { signatureOf } from './read/signature.ts';
import { type Judge, policyVerdict } from './sources/server-policy.ts';

/** The organisation's rules about servers. */
export interface ManagedRules {
  /** The location of the rule that excludes all other sources of servers, if there is one. */
  readonly exclusive?: SourceLocation;
  readonly judges: readonly Judge[];
}

export interface ServerSources {
  readonly layers: readonly Layer[];
  readonly programmatic: readonly ServerConfig[];
  readonly managed: ManagedRules;
}

export interface MergedServers {
  readonly byName: ReadonlyMap<string, ServerConfig>;
  readonly origins: () => ReadonlyMap<string, ValueOrigin>;
  readonly dropped: readonly DroppedServer[];
  readonly problems: readonly Problem[];
}

/** Merges the servers of all layers: one per name, without duplicates, and blocked where the organisation forbids them. */
export function mergeServers({ layers, programmatic, managed }: ServerSources): MergedServers {
  const { exclusive, judges } = managed;
  const isAllowed = ({ scope }: { readonly scope: Scope }) =>
    exclusive === undefined || scope === 'enterprise' || scope === 'sdk';
  const named = winners(layers.filter(isAllowed));
  const all = new Map([...named].map(([name, { server }]) => [name, server]));
  for (const server of programmatic) {
    const below = all.get(server.name);
    if (isAllowed(server)) all.set(server.name, withShadow(server, below));
    // The caller names this server, so it is reported as blocked instead of dropped.
    else if (below === undefined)
      all.set(server.name, blocked(server, { effect: 'block', rule: onlySource(exclusive) }));
  }

  const unique = withoutDuplicates(all);
  const servers = unique.servers.map((server) => judgedBy(judges, server));
  const refused = servers.flatMap(({ problem }) => (problem?.code === 'SERVER_BLOCKED' ? [problem] : []));
  const excluded = layers.filter((layer) => !isAllowed(layer)).flatMap((layer) => excludedBy(exclusive, layer));
  return {
    byName: new Map(servers.map((server) => [server.name, server])),
    origins: () => originsOf(servers, named),
    dropped: [...unique.dropped, ...excluded],
    problems: [...[...named.values()].flatMap(({ problems }) => problems), ...refused],
  };
}

interface Named {
  readonly server: ServerConfig;
  readonly fields: LayerServer['locations'];
  readonly problems: readonly Problem[];
}

function winners(layers: readonly Layer[]): ReadonlyMap<string, Named> {
  const written = Map.groupBy(
    layers.flatMap(({ scope, needsTrust = false, servers }) =>
      servers.map((server) => ({ ...server, scope, fromProject: needsTrust })),
    ),
    ({ name }) => name,
  );
  const named = new Map<string, Named>();
  for (const [name, [winner, ...others]] of written) {
    if (winner === undefined) continue;
    const shadowed = others.map(({ scope, at }) => ({ scope, at }));
    // Errors of an entry that is not in force are only warnings.
    const idle = others.flatMap((other) => other.problems.map((problem) => ({ ...problem, level: 'warn' as const })));
    const problems = [...winner.problems, ...idle];
    named.set(name, { server: toServer(winner, shadowed), fields: winner.locations, problems });
  }
  return named;
}

function originsOf(
  servers: readonly ServerConfig[],
  named: ReadonlyMap<string, Named>,
): ReadonlyMap<string, ValueOrigin> {
  const origins = new Map<string, ValueOrigin>();
  for (const { name, scope, at, shadowed } of servers) {
    if (at === undefined) continue;
    for (const [field, location] of named.get(name)?.fields() ?? []) {
      origins.set(serverKey(name, field), { scope, at: location, shadowed });
    }
  }
  return origins;
}

type Winner = LayerServer & { readonly scope: Scope; readonly fromProject: boolean };

function toServer(winner: Winner, shadowed: readonly Shadow[]): ServerConfig {
  const { name, scope, at, entry, written, fromProject, needsTrust } = winner;
  const problem = winner.problems.find(({ level }) => level === 'error');
  return {
    name,
    scope,
    at,
    shadowed,
    ...(written && { written }),
    ...((fromProject || needsTrust) && { needsTrust: true }),
    ...(needsTrust && !fromProject && { everywhere: true }),
    ...(entry && { entry }),
    ...(problem && { problem }),
  };
}

function serverKey(name: string, field: string): string {
  return field === '' ? `mcpServers.${name}` : `mcpServers.${name}.${field}`;
}

function withShadow(server: ServerConfig, below: ServerConfig | undefined): ServerConfig {
  if (below?.at === undefined) return server;
  return { ...server, shadowed: [{ scope: below.scope, at: below.at }, ...below.shadowed] };
}

const IMPORTED: ReadonlySet<Scope> = new Set(['plugin', 'connector']);

/** Drops servers of plugins and connectors that equal a server of another source. */
function withoutDuplicates(all: ReadonlyMap<string, ServerConfig>) {
  const dropped: DroppedServer[] = [];
  const hasImported = [...all.values()].some(({ scope }) => IMPORTED.has(scope));
  if (!hasImported) return { servers: [...all.values()], dropped };
  const written = new Map<string, string>();
  for (const { name, scope, entry } of all.values()) {
    if (entry && !IMPORTED.has(scope)) written.set(signatureOf(entry), name);
  }
  const servers = [...all.values()].filter(({ name, scope, entry, at }) => {
    const same = entry && IMPORTED.has(scope) ? written.get(signatureOf(entry)) : undefined;
    if (same === undefined || at === undefined) return true;
    dropped.push({ name, scope, at, reason: `It is the same server as \`${same}\`.` });
    return false;
  });
  return { servers, dropped };
}

function judgedBy(judges: readonly Judge[], server: ServerConfig): ServerConfig {
  const { name, scope, entry, written, problem } = server;
  if (entry === undefined || problem !== undefined) return server;
  const policy = policyVerdict(judges, { name, entry, ...(written && { written }) }, scope);
  if (policy?.effect === 'block') return blocked(server, policy);
  return policy === undefined ? server : { ...server, policy };
}

function blocked(server: ServerConfig, policy: PolicyVerdict): ServerConfig {
  const { name, at } = server;
  const where = policy.at ? ` (${policy.at.file}:${policy.at.line}:${policy.at.column})` : '';
  const problem: Problem = {
    level: 'error',
    code: 'SERVER_BLOCKED',
    message: `The server \`${name}\` is not allowed on this machine: ${policy.rule}${where}.`,
    fix: 'Ask the administrator of this machine to allow it.',
    server: name,
    ...(at && { at }),
  };
  return { ...server, policy, problem };
}

const onlySource = (exclusive: SourceLocation | undefined) => `${exclusive?.file} is the only source of servers`;

function excludedBy(exclusive: SourceLocation | undefined, { scope, servers }: Layer): readonly DroppedServer[] {
  return servers.map(({ name, at }) => ({ name, scope, at, reason: `${onlySource(exclusive)} on this machine.` }));
}
