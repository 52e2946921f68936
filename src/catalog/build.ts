import { createHash } from 'node:crypto';
import type { ServerEntry } from '../config/schema.ts';
import type { Facts, JsonObject, Target } from '../core/call.ts';
import { canonicalJson } from '../core/json.ts';
import type { Catalog } from './catalog.ts';
import { factsOf, settingsOf, strictest } from './facts.ts';
import { publicName } from './naming.ts';

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
  const taken = new Map<string, number>();
  for (const { group, tool } of offers) {
    const name = publicName(group, tool.shownAs);
    taken.set(name, (taken.get(name) ?? 0) + 1);
  }
  const byName = new Map<string, Target>();
  const byTool = new Map<string, Target[]>();
  for (const offer of offers) {
    const { group, tool } = offer;
    const plain = publicName(group, tool.shownAs);
    const target = toTarget(offer, taken.get(plain) === 1 ? plain : publicName(group, tool.shownAs, true));
    byName.set(target.publicName, target);
    byName.set(`${group}.${tool.shownAs}`, target);
    byTool.set(tool.shownAs, [...(byTool.get(tool.shownAs) ?? []), target]);
  }
  const targets = [...new Set(byName.values())].sort((a, b) => (a.publicName < b.publicName ? -1 : 1));
  return { targets, find: (name) => byName.get(name), called: (tool) => byTool.get(tool) ?? [] };
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
