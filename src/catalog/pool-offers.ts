import { canonicalJson } from '../core/json.ts';
import { checkTool } from './check-tool.ts';
import { strictest } from './facts.ts';
import { makeOffer, type Offer, type Tool } from './offer.ts';
import type { Part } from './part.ts';

interface Member {
  readonly part: Part;
  readonly tool: Tool;
}

// By the first server of a pool, for as long as all of them stay as they are.
const known = new WeakMap<Part, { readonly parts: readonly Part[]; readonly offers: readonly Offer[] }>();

/** What servers of one pool have in common: the same tool with the same input. Differing ones stay apart. */
export function poolOffers(parts: readonly Part[]): readonly Offer[] {
  const pools = Map.groupBy(
    parts.filter(({ pool }) => pool),
    ({ pool }) => pool as string,
  );
  return [...pools].flatMap(([pool, members]) => offersOf(pool, members.sort(byPreference)));
}

function offersOf(pool: string, parts: readonly Part[]): readonly Offer[] {
  const [first] = parts;
  if (!first || parts.length < 2) return [];
  const before = known.get(first);
  if (before && isSame(before.parts, parts)) return before.offers;
  const members = parts.flatMap((part) => part.tools.map((tool): Member => ({ part, tool })));
  const usable = members.filter(({ tool }) => !tool.contradicted && checkTool(tool.definition) === undefined);
  const groups = Map.groupBy(usable, ({ tool }) =>
    JSON.stringify([tool.shownAs, tool.name, canonicalJson(tool.definition.inputSchema)]),
  );
  const offers = [...groups.values()].flatMap((group) => inCommon(pool, group));
  known.set(first, { parts, offers });
  return offers;
}

function inCommon(pool: string, [first, ...rest]: readonly Member[]): Offer[] {
  if (!first || rest.length === 0) return [];
  const facts = strictest([first.tool.facts, ...rest.map(({ tool }) => tool.facts)]);
  const servers = [first.part.server, ...rest.map(({ part }) => part.server)] as const;
  return [makeOffer({ group: pool, servers, tool: { ...first.tool, facts } })];
}

const isSame = (some: readonly Part[], others: readonly Part[]) =>
  some.length === others.length && some.every((part, index) => part === others[index]);

const byPreference = (a: Part, b: Part) => b.priority - a.priority || (a.server < b.server ? -1 : 1);
