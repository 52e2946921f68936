import { canonicalJson } from '../../core/json.ts';
import { checkTool } from './check-definition.ts';
import { type CatalogEntry, makeEntry } from './entry.ts';
import { strictest } from './facts.ts';
import type { ServerTools } from './server-tools.ts';
import { cannot, type Member, standInsFor } from './stand-ins.ts';

export interface PoolEntries {
  readonly entries: readonly CatalogEntry[];
  /** What configuration says of pools and cannot be done. */
  readonly problems: readonly string[];
}

const NONE: PoolEntries = { entries: [], problems: [] };
// By the first server of a pool, for as long as all of them stay as they are.
const known = new WeakMap<ServerTools, { readonly parts: readonly ServerTools[]; readonly found: PoolEntries }>();

/**
 * What servers of one pool have in common: the same tool with the same input, and what configuration says is
 * equivalent to it. Others that differ stay apart.
 */
export function poolEntries(parts: readonly ServerTools[]): PoolEntries {
  const pools = Map.groupBy(
    parts.filter(({ pool }) => pool),
    ({ pool }) => pool as string,
  );
  const found = [...pools].map(([pool, members]) => offersOf(pool, members.sort(byPreference)));
  return together(found);
}

function offersOf(pool: string, parts: readonly ServerTools[]): PoolEntries {
  const [first] = parts;
  if (!first || parts.length < 2) return NONE;
  const before = known.get(first);
  if (before && isSame(before.parts, parts)) return before.found;
  const found = offersAnew(pool, parts);
  known.set(first, { parts, found });
  return found;
}

function offersAnew(pool: string, parts: readonly ServerTools[]): PoolEntries {
  const members = parts.flatMap((part) => part.tools.map((tool): Member => ({ part, tool })));
  const usable = members.filter(({ tool }) => !tool.contradicted && checkTool(tool.definition) === undefined);
  const originals = usable.filter(({ tool }) => !tool.standsFor);
  const standing = Map.groupBy(
    usable.filter(({ tool }) => tool.standsFor),
    ({ tool }) => tool.standsFor?.tool,
  );
  const groups = Map.groupBy(originals, ({ tool }) =>
    JSON.stringify([tool.shownAs, tool.name, canonicalJson(tool.definition.inputSchema)]),
  );
  // The most preferred server comes first, so where tools of one name differ its own is the one that is meant.
  const each = [...groups.values()].map((group) => {
    const [{ tool }] = group as [Member];
    const configured = standing.get(tool.shownAs) ?? [];
    standing.delete(tool.shownAs);
    return inCommon(pool, group, configured);
  });
  const unmet = [...standing.values()].flat().map((member) => cannot(member, 'no other server of the pool offers it'));
  return together([...each, { entries: [], problems: unmet }]);
}

function inCommon(pool: string, group: readonly Member[], configured: readonly Member[]): PoolEntries {
  const [first] = group as [Member];
  const { members, equivalents, problems } = standInsFor(group as [Member], configured);
  const all = [...group, ...members].sort((a, b) => byPreference(a.part, b.part));
  if (all.length < 2) return { entries: [], problems };
  const facts = strictest([first.tool.facts, ...all.map(({ tool }) => tool.facts)]);
  const servers = all.map(({ part }) => part.server) as [string, ...string[]];
  const limited = all.flatMap(({ part: { server }, tool: { facts } }) =>
    facts.rateLimit ? [[server, facts.rateLimit] as const] : [],
  );
  const tool = {
    ...first.tool,
    facts,
    ...(equivalents.size > 0 && { equivalents }),
    ...(limited.length > 0 && { rateLimits: new Map(limited) }),
  };
  return { entries: [makeEntry({ group: pool, servers, tool })], problems };
}

const together = (found: readonly PoolEntries[]): PoolEntries => ({
  entries: found.flatMap(({ entries }) => entries),
  problems: found.flatMap(({ problems }) => problems),
});

const isSame = (some: readonly ServerTools[], others: readonly ServerTools[]) =>
  some.length === others.length && some.every((part, index) => part === others[index]);

const byPreference = (a: ServerTools, b: ServerTools) => b.priority - a.priority || (a.server < b.server ? -1 : 1);
