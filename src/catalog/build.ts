import { createHash } from 'node:crypto';
import type { ServerEntry } from '../config/schema.ts';
import type { Facts, JsonObject, Target } from '../core/call.ts';
import { canonicalJson } from '../core/json.ts';
import type { Catalog } from './catalog.ts';
import { factsOf, settingsOf, strictest } from './facts.ts';
import { distinctName, publicName } from './naming.ts';

/** The tools of one server, worked out once and shared by every catalog until they change. */
export interface Part {
  readonly server: string;
  readonly pool: string | undefined;
  readonly priority: number;
  readonly tools: readonly Tool[];
}

interface Tool {
  readonly name: string;
  /** The last part of the public name; another than `name` where configuration renames it. */
  readonly shownAs: string;
  readonly definition: JsonObject;
  readonly facts: Facts;
}

interface Offer {
  /** The middle of the public name: a server or a pool. */
  readonly group: string;
  readonly servers: readonly [string, ...string[]];
  readonly tool: Tool;
}

export function buildPart(
  server: string,
  definitions: readonly JsonObject[],
  owner: { readonly entry: ServerEntry | undefined; readonly builtin: boolean },
): Part {
  const { entry } = owner;
  const tools = new Map<string, Tool>(); // A name the server lists twice is one tool: the first, in its own order.
  for (const definition of definitions) {
    const name = String(definition.name);
    const { hidden, rename } = settingsOf(entry, name);
    if (tools.has(name) || hidden) continue;
    tools.set(name, { name, shownAs: rename ?? name, definition, facts: factsOf(definition, owner) });
  }
  return { server, pool: entry?.pool, priority: entry?.priority ?? 0, tools: [...tools.values()] };
}

/** Names everything. The same parts give the same names in whatever order they come. */
export function buildCatalog(parts: readonly Part[]): Catalog {
  const offers = [
    ...parts.flatMap(({ server, tools }) => tools.map((tool): Offer => ({ group: server, servers: [server], tool }))),
    ...poolOffers(parts),
  ];
  const names = nameAll(offers);
  const byName = new Map<string, Target>();
  const byWritten = new Map<string, Target[]>(); // `server.tool` and the bare tool.
  const offerOf = new Map<Target, Offer>();
  for (const [index, offer] of offers.entries()) {
    const target = toTarget(offer, names[index] as string);
    byName.set(target.publicName, target);
    offerOf.set(target, offer);
    for (const name of [written(offer), offer.tool.shownAs]) {
      const same = byWritten.get(name);
      if (same) same.push(target);
      else byWritten.set(name, [target]);
    }
  }
  const find = (name: string) => byName.get(name) ?? only(byWritten.get(name), (one) => isWritten(one, name));
  const isWritten = (target: Target, name: string) => written(offerOf.get(target) as Offer) === name;
  return {
    targets: [...byName.values()].sort((a, b) => (a.publicName < b.publicName ? -1 : 1)),
    find,
    called: (name) => byWritten.get(name) ?? [],
    spellings(target) {
      const offer = offerOf.get(target) as Offer;
      const { publicName } = target;
      const { shownAs } = offer.tool;
      return find(written(offer)) === target ? [written(offer), publicName, shownAs] : [publicName, shownAs];
    },
  };
}

const written = ({ group, tool }: Offer) => `${group}.${tool.shownAs}`;

function only<T>(items: readonly T[] | undefined, wanted: (item: T) => boolean): T | undefined {
  const [first, ...rest] = items?.filter(wanted) ?? [];
  return rest.length === 0 ? first : undefined;
}

/**
 * One name for each offer, in their order. Those that share a name all get
 * another, so none depends on who came first; and a name that merely looks like
 * one with a suffix gives way to it, so nobody can take it over.
 */
function nameAll(offers: readonly Offer[]): readonly string[] {
  const levels = offers.map(() => 0);
  for (;;) {
    const names = offers.map((offer, index) => spelled(offer, levels[index] as number));
    const holders = Map.groupBy(names.keys(), (index) => names[index]);
    const clashes = [...holders.values()].filter((indexes) => indexes.length > 1);
    if (clashes.length === 0) return names;
    for (const indexes of clashes) {
      const lowest = Math.min(...indexes.map((index) => levels[index] as number));
      for (const index of indexes) if (levels[index] === lowest) levels[index] = lowest + 1;
    }
  }
}

function spelled({ group, servers, tool }: Offer, level: number): string {
  if (level === 0) return publicName(group, tool.shownAs);
  if (level === 1) return distinctName(group, tool.shownAs);
  return distinctName(group, tool.shownAs, tool.name, ...servers, String(level));
}

/** What servers of one pool have in common: the same tool with the same input. Differing ones stay apart. */
function poolOffers(parts: readonly Part[]): readonly Offer[] {
  const groups = new Map<string, { part: Part; tool: Tool }[]>();
  for (const part of parts) {
    if (!part.pool) continue;
    for (const tool of part.tools) {
      const key = JSON.stringify([part.pool, tool.shownAs, tool.name, canonicalJson(tool.definition.inputSchema)]);
      groups.set(key, [...(groups.get(key) ?? []), { part, tool }]);
    }
  }
  return [...groups.values()].flatMap((group): Offer[] => {
    if (group.length < 2) return [];
    const [first, ...rest] = group.sort((a, b) => byPreference(a.part, b.part));
    if (!first?.part.pool) return [];
    const facts = strictest([first.tool.facts, ...rest.map(({ tool }) => tool.facts)]);
    const servers = [first.part.server, ...rest.map(({ part }) => part.server)] as const;
    return [{ group: first.part.pool, servers, tool: { ...first.tool, facts } }];
  });
}

const byPreference = (a: Part, b: Part) => b.priority - a.priority || (a.server < b.server ? -1 : 1);

function toTarget({ servers, tool }: Offer, name: string): Target {
  let digest: string | undefined;
  return {
    publicName: name,
    servers,
    name: tool.name,
    definition: tool.definition,
    facts: tool.facts,
    // Worked out when first asked for: most tools of a large catalog are never called.
    get digest() {
      digest ??= createHash('sha256').update(canonicalJson(tool.definition)).digest('hex');
      return digest;
    },
  };
}
