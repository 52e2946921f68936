import type { JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { viewUrisOf } from '../views/tool-views.ts';
import { type CatalogEntry, makeEntry, type ToolEntry } from './entry.ts';
import { factsOf, type Owner, settingsOf } from './facts.ts';
import { limitList } from './limit-list.ts';

/** The tools of one server, built once and shared by every catalog until they change. */
export interface ServerTools {
  readonly server: string;
  readonly pool: string | undefined;
  readonly priority: number;
  readonly tools: readonly ToolEntry[];
  /** Problems of the server's list. */
  readonly problems: readonly string[];
  /** The `ui://` URIs that its tools name. */
  readonly views: readonly string[];
  /** Sorted by name, so that sorting the whole catalog is cheap. */
  readonly entries: readonly CatalogEntry[];
}

export function buildServerTools(server: string, definitions: readonly JsonObject[], owner: Owner): ServerTools {
  const { entry } = owner;
  const priority = entry?.priority ?? 0;
  const byName = Map.groupBy(definitions, ({ name }) => String(name));
  const { items, problems } = limitList(byName, { server, what: 'tools' });
  const tools = items.flatMap(([name, same]): ToolEntry[] => {
    const { hidden, rename, equivalent: standsFor } = settingsOf(entry, name);
    if (hidden) return [];
    const [definition, contradicted] = oneOf(same);
    const facts = factsOf(definition, owner);
    return [{ kind: 'tool', name, shownAs: rename ?? name, definition, facts, priority, contradicted, standsFor }];
  });
  const entries = tools.map((tool) => makeEntry({ group: server, servers: [server], tool }));
  return {
    server,
    pool: entry?.pool,
    priority,
    problems,
    tools,
    views: tools.flatMap(({ definition }) => viewUrisOf(definition)),
    entries: entries.sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** Picks one of the definitions with one name, independent of their order. The flag is true if they differ. */
export function oneOf(same: readonly JsonObject[]): readonly [JsonObject, boolean] {
  const [first] = same as [JsonObject];
  if (same.length === 1) return [first, false];
  const texts = new Map(same.map((definition) => [canonicalJson(definition), definition]));
  const [least] = [...texts.keys()].sort() as [string];
  return [texts.get(least) as JsonObject, texts.size > 1];
}
