import type { ServerEntry } from '../config/schema.ts';
import type { JsonObject } from '../core/call.ts';
import { canonicalJson } from '../core/json.ts';
import { factsOf, settingsOf } from './facts.ts';
import { listed } from './listed.ts';
import { makeOffer, type Offer, type Tool } from './offer.ts';

/** The tools of one server, worked out once and shared by every catalog until they change. */
export interface Part {
  readonly server: string;
  readonly pool: string | undefined;
  readonly priority: number;
  readonly tools: readonly Tool[];
  /** What of the server's list could not be taken as it is. */
  readonly problems: readonly string[];
  /** In the order of their names, so that a catalog of many parts is all but sorted already. */
  readonly offers: readonly Offer[];
}

export function buildPart(
  server: string,
  definitions: readonly JsonObject[],
  owner: { readonly entry: ServerEntry | undefined; readonly builtin: boolean },
): Part {
  const { entry } = owner;
  const byName = Map.groupBy(definitions, ({ name }) => String(name));
  const { items, problems } = listed(byName, { server, what: 'tools' });
  const tools = items.flatMap(([name, same]): Tool[] => {
    const { hidden, rename, equivalent: standsFor } = settingsOf(entry, name);
    if (hidden) return [];
    const [definition, contradicted] = oneOf(same);
    const facts = factsOf(definition, owner);
    return [{ kind: 'tool', name, shownAs: rename ?? name, definition, facts, contradicted, standsFor }];
  });
  const offers = tools.map((tool) => makeOffer({ group: server, servers: [server], tool }));
  return {
    server,
    pool: entry?.pool,
    priority: entry?.priority ?? 0,
    problems,
    tools,
    offers: offers.sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** Of definitions that share a name: one, not depending on their order, and whether another says something else. */
export function oneOf(same: readonly JsonObject[]): readonly [JsonObject, boolean] {
  const [first] = same as [JsonObject];
  if (same.length === 1) return [first, false];
  const texts = new Map(same.map((definition) => [canonicalJson(definition), definition]));
  const [least] = [...texts.keys()].sort() as [string];
  return [texts.get(least) as JsonObject, texts.size > 1];
}
