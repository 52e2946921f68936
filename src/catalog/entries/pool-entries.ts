import { canonicalJson } from '../../core/json.ts';
import { checkTool } from './check-definition.ts';
import { type CatalogEntry, makeEntry } from './entry.ts';
import { strictest } from './facts.ts';
import type { ServerTools } from './server-tools.ts';
import { cannot, type Member, standInsFor } from './stand-ins.ts';

export interface PoolEntries {
  readonly entries: readonly CatalogEntry[];
  /** Configured equivalents that cannot be used. */
  readonly problems: readonly string[];
}

const NONE: PoolEntries = { entries: [], problems: [] };
// Cached by the first server of a pool, until one of its servers changes.
const known = new WeakMap<ServerTools, { readonly parts: readonly ServerTools[]; readonly found: PoolEntries }>();

/**
 * Builds the entries of pools: tools with the same name and input schema, and configured equivalents. Other tools are
 * not pooled.
 */
export function poolEntries(parts: readonly ServerTools[]): PoolEntries {
  const pools = Map.groupBy(
    parts.filter(({ pool }) => pool),
    ({ pool }) => pool as string,
  );
  const found = [...pools].map(([pool, members]) => entriesOf(pool, members.sort(byPreference)));
  return merge(found);
}

function entriesOf(pool: string, parts: readonly ServerTools[]): PoolEntries {
  const [first] = parts;
  if (!first || parts.length < 2) return NONE;
  const before = known.get(first);
  if (before && isSame(before.parts, parts)) return before.found;
  const found = buildEntries(pool, parts);
  known.set(first, { parts, found });
  return found;
}

function buildEntries(pool: string, parts: readonly ServerTools[]): PoolEntries {
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
  // If tools of one name differ, an equivalent joins that of the most preferred server, which comes first.
  const each = [...groups.values()].map((group) => {
    const [{ tool }] = group as [Member];
    const configured = standing.get(tool.shownAs) ?? [];
    standing.delete(tool.shownAs);
    return pooledEntry(pool, group, configured);
  });
  const unmatched = [...standing.values()].flat().map((member) => cannot(member, 'no other server of the pool has it'));
  return merge([...each, { entries: [], problems: unmatched }]);
}

function pooledEntry(pool: string, group: readonly Member[], configured: readonly Member[]): PoolEntries {
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
    definitions: all.map(({ tool }) => tool.definition),
    ...(equivalents.size > 0 && { equivalents }),
    ...(limited.length > 0 && { rateLimits: new Map(limited) }),
  };
  return { entries: [makeEntry({ group: pool, servers, tool })], problems };
}

const merge = (found: readonly PoolEntries[]): PoolEntries => ({
  entries: found.flatMap(({ entries }) => entries),
  problems: found.flatMap(({ problems }) => problems),
});

const isSame = (some: readonly ServerTools[], others: readonly ServerTools[]) =>
  some.length === others.length && some.every((part, index) => part === others[index]);

const byPreference = (a: ServerTools, b: ServerTools) => b.priority - a.priority || (a.server < b.server ? -1 : 1);
