import type { Target } from '../../core/call.ts';
import type { Catalog, NameIndex, Resources } from '../catalog.ts';
import { isUnprintable } from './confusable.ts';
import { type CatalogEntry, catalogEntryOf, spelled } from './entry.ts';
import { flagsOf } from './look-alikes.ts';
import { nameAll } from './naming.ts';
import { poolEntries } from './pool-entries.ts';
import { buildResources } from './resources.ts';
import type { ServerTools } from './server-tools.ts';

/** What there is beside tools. */
export interface Others {
  readonly prompts: NameIndex;
  readonly resources: Resources;
  /** Tools that not everybody is shown. */
  readonly able: readonly CatalogEntry[];
  /** What of the servers' prompts could not be taken as it is. */
  readonly problems: readonly string[];
}

/**
 * Puts the parts together. The same parts give the same names in whatever order
 * they come; what a part had worked out already is not worked out again.
 */
export function buildCatalog(
  parts: readonly ServerTools[],
  { prompts = buildNameIndex([]), resources = buildResources([]), able = [], problems = [] }: Partial<Others> = {},
): Catalog {
  const tools = buildTools(parts, able);
  return { ...tools, problems: [...tools.problems, ...resources.problems, ...problems], prompts, resources };
}

/** The tools of all servers, and what of their lists could not be taken as it is. */
export interface Tools extends NameIndex {
  readonly problems: readonly string[];
}

export function buildTools(parts: readonly ServerTools[], able: readonly CatalogEntry[]): Tools {
  const ordered = [...parts].sort((a, b) => (a.server < b.server ? -1 : 1));
  const pools = poolEntries(ordered);
  const offers = [...ordered.flatMap((part) => part.entries), ...pools.entries];
  return {
    ...buildNameIndex(offers, able),
    problems: [...ordered.flatMap((part) => part.problems), ...pools.problems],
  };
}

/** Gives every offer its name. What everybody sees is called the same whatever `others` there are for some. */
export function buildNameIndex(offers: readonly CatalogEntry[], others: readonly CatalogEntry[] = []): NameIndex {
  const named = nameAll(offers, spelled);
  const flags = flagsOf(named);
  const byName = new Map<string, Target>();
  for (const [name, offer] of named) byName.set(name, offer.as(name, flags.get(offer) ?? []));
  for (const [name, target] of besides(named, others)) byName.set(name, target);
  const targets = [...byName.values()].sort((a, b) => (a.publicName < b.publicName ? -1 : 1));

  let written: ReadonlyMap<string, readonly Target[]> | undefined;
  function called(name: string): readonly Target[] {
    written ??= byWritten(targets); // Only people write so; programs use public names.
    return written.get(name) ?? [];
  }
  function find(name: string): Target | undefined {
    const exact = byName.get(name);
    if (exact) return exact;
    const [first, ...rest] = called(name).filter((target) => catalogEntryOf(target).written === name);
    return rest.length === 0 ? first : undefined;
  }
  return {
    targets,
    find,
    called,
    spellings(target) {
      const { written, tool } = catalogEntryOf(target);
      const { publicName } = target;
      if (isUnprintable(tool.shownAs)) return [publicName];
      return find(written) === target ? [written, publicName, tool.shownAs] : [publicName, tool.shownAs];
    },
  };
}

/** Offers that come after others: they give way to these, which hear nothing of them. */
function besides(
  named: ReadonlyMap<string, CatalogEntry>,
  others: readonly CatalogEntry[],
): readonly (readonly [string, Target])[] {
  if (others.length === 0) return [];
  const free = (offer: CatalogEntry, level: number): string => {
    let left = level;
    for (let at = 0; ; at++) {
      const name = spelled(offer, at);
      if (!named.has(name) && left-- === 0) return name;
    }
  };
  const more = nameAll(others, free);
  const flags = flagsOf(new Map([...named, ...more]));
  return [...more].map(([name, offer]) => [name, offer.as(name, flags.get(offer) ?? [])]);
}

/** By `server.tool` and by the bare tool. */
function byWritten(targets: readonly Target[]): ReadonlyMap<string, readonly Target[]> {
  const found = new Map<string, Target[]>();
  for (const target of targets) {
    const { written, tool } = catalogEntryOf(target);
    for (const name of [written, tool.shownAs]) {
      const same = found.get(name);
      if (same) same.push(target);
      else found.set(name, [target]);
    }
  }
  return found;
}
