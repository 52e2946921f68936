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

/** What an organisation has to say about servers. */
export interface ManagedRules {
  /** Where it is said that no other source of servers counts. */
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
  readonly places: () => ReadonlyMap<string, ValueOrigin>;
  readonly dropped: readonly DroppedServer[];
  readonly problems: readonly Problem[];
}

/** Decides which servers there are: one for each name, none twice, and none that an organisation forbids. */
export function mergeServers({ layers, programmatic, managed }: ServerSources): MergedServers {
  const { exclusive, judges } = managed;
  const counts = ({ scope }: { readonly scope: Scope }) =>
    exclusive === undefined || scope === 'enterprise' || scope === 'sdk';
  const named = winners(layers.filter(counts));
  const all = new Map([...named].map(([name, { server }]) => [name, server]));
  for (const server of programmatic) {
    const below = all.get(server.name);
    if (counts(server)) all.set(server.name, above(server, below));
    // Somebody asks for it right now, so it is refused, not forgotten.
    else if (below === undefined)
      all.set(server.name, blocked(server, { effect: 'block', rule: onlySource(exclusive) }));
  }

  const unique = withoutDuplicates(all);
  const servers = unique.servers.map((server) => judgedBy(judges, server));
  const refused = servers.flatMap(({ problem }) => (problem?.code === 'SERVER_BLOCKED' ? [problem] : []));
  const excluded = layers.filter((layer) => !counts(layer)).flatMap((layer) => excludedBy(exclusive, layer));
  return {
    byName: new Map(servers.map((server) => [server.name, server])),
    places: () => placesOf(servers, named),
    dropped: [...unique.dropped, ...excluded],
    problems: [...[...named.values()].flatMap(({ problems }) => problems), ...refused],
  };
}

interface Named {
  readonly server: ServerConfig;
  readonly fields: LayerServer['places'];
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
    // What is wrong with an entry that is not in force can wait.
    const idle = others.flatMap((other) => other.problems.map((problem) => ({ ...problem, level: 'warn' as const })));
    const problems = [...winner.problems, ...idle];
    named.set(name, { server: toServer(winner, shadowed), fields: winner.places, problems });
  }
  return named;
}

function placesOf(
  servers: readonly ServerConfig[],
  named: ReadonlyMap<string, Named>,
): ReadonlyMap<string, ValueOrigin> {
  const places = new Map<string, ValueOrigin>();
  for (const { name, scope, at, shadowed } of servers) {
    if (at === undefined) continue;
    for (const [field, place] of named.get(name)?.fields() ?? []) {
      places.set(serverKey(name, field), { scope, at: place, shadowed });
    }
  }
  return places;
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

function above(server: ServerConfig, below: ServerConfig | undefined): ServerConfig {
  if (below?.at === undefined) return server;
  return { ...server, shadowed: [{ scope: below.scope, at: below.at }, ...below.shadowed] };
}

const BROUGHT: ReadonlySet<Scope> = new Set(['plugin', 'connector']);

/** Of a server that a person has written down themselves, what a plugin or a connector brings is only a copy. */
function withoutDuplicates(all: ReadonlyMap<string, ServerConfig>) {
  const dropped: DroppedServer[] = [];
  const brought = [...all.values()].some(({ scope }) => BROUGHT.has(scope));
  if (!brought) return { servers: [...all.values()], dropped };
  const written = new Map<string, string>();
  for (const { name, scope, entry } of all.values()) {
    if (entry && !BROUGHT.has(scope)) written.set(signatureOf(entry), name);
  }
  const servers = [...all.values()].filter(({ name, scope, entry, at }) => {
    const same = entry && BROUGHT.has(scope) ? written.get(signatureOf(entry)) : undefined;
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
    fix: 'Ask who manages this machine to allow it.',
    server: name,
    ...(at && { at }),
  };
  return { ...server, policy, problem };
}

const onlySource = (exclusive: SourceLocation | undefined) => `${exclusive?.file} is the only source of servers`;

function excludedBy(exclusive: SourceLocation | undefined, { scope, servers }: Layer): readonly DroppedServer[] {
  return servers.map(({ name, at }) => ({ name, scope, at, reason: `${onlySource(exclusive)} on this machine.` }));
}
