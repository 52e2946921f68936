import type { JsonObject } from '../core/call.ts';
import { canonicalJson } from '../core/json.ts';
import type { Owner } from './facts.ts';
import { makeOffer, type Offer, type Tool } from './offer.ts';
import { buildPart } from './part.ts';

/** What a server lists to those who can be asked something, by what that is. */
export type AbleTools = ReadonlyMap<number, readonly JsonObject[]>;

/** The tools of a list that not everybody is shown. */
export function beyond(everybodys: readonly JsonObject[], tools: readonly JsonObject[]): readonly JsonObject[] {
  const known = new Set(everybodys.map(({ name }) => name));
  return tools.filter(({ name }) => !known.has(name));
}

/** Those tools as they are offered: the same tool is one offer, whoever sees it. They stand in for nobody in a pool. */
export function ableOffers(
  server: string,
  { everybodys, able }: { readonly everybodys: readonly JsonObject[]; readonly able: AbleTools },
  owner: Owner,
): readonly Offer[] {
  const found = new Map<string, { readonly tool: Tool; readonly onlyFor: Set<number> }>();
  for (const [abilities, tools] of able) {
    for (const tool of buildPart(server, beyond(everybodys, tools), owner).tools) {
      const id = canonicalJson(tool.definition);
      const same = found.get(id) ?? { tool, onlyFor: new Set() };
      same.onlyFor.add(abilities);
      found.set(id, same);
    }
  }
  return [...found.values()].map(({ tool, onlyFor }) =>
    makeOffer({ group: server, servers: [server], tool: { ...tool, onlyFor } }),
  );
}
