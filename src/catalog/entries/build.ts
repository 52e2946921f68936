import type { Target } from '../../core/call.ts';
import type { Catalog, NameIndex, Resources } from '../catalog.ts';
import { viewUrisOf } from '../views/tool-views.ts';
import { NO_VIEWS, type ViewNames } from '../views/view-names.ts';
import { isUnprintable } from './confusable.ts';
import { type CatalogEntry, catalogEntryOf, shownServer, spelled } from './entry.ts';
import { flagsOf } from './look-alikes.ts';
import { nameAll } from './naming.ts';
import { poolEntries } from './pool-entries.ts';
import { buildResources } from './resources.ts';
import type { ServerTools } from './server-tools.ts';

/** The parts of a catalog besides the shared tools. */
export interface Others {
  readonly prompts: NameIndex;
  readonly resources: Resources;
  /** Tools that only some capability sets see. */
  readonly byCapability: readonly CatalogEntry[];
  /** Problems of the servers' prompts. */
  readonly problems: readonly string[];
}

/**
 * Builds a catalog. The names do not depend on the order of the servers, and built parts are reused.
 */
export function buildCatalog(
  parts: readonly ServerTools[],
  {
    prompts = buildNameIndex([]),
    resources = buildResources([]),
    byCapability = [],
    problems = [],
  }: Partial<Others> = {},
): Catalog {
  const tools = buildTools(parts, byCapability);
  return { ...tools, problems: [...tools.problems, ...resources.problems, ...problems], prompts, resources };
}

/** The tools of all servers, and the problems of their lists. */
export interface Tools extends NameIndex {
  readonly problems: readonly string[];
}

export function buildTools(
  parts: readonly ServerTools[],
  byCapability: readonly CatalogEntry[],
  names: ViewNames = NO_VIEWS,
): Tools {
  const ordered = [...parts].sort((a, b) => (a.server < b.server ? -1 : 1));
  const pools = poolEntries(ordered);
  const entries = [...ordered.flatMap((part) => part.entries), ...pools.entries];
  return {
    ...buildNameIndex(entries, byCapability, names),
    problems: [...ordered.flatMap((part) => part.problems), ...pools.problems],
  };
}

/** Names every entry. The names of shared entries do not depend on `others`, which only some clients see. */
export function buildNameIndex(
  entries: readonly CatalogEntry[],
  others: readonly CatalogEntry[] = [],
  views: ViewNames = NO_VIEWS,
): NameIndex {
  const named = nameAll(entries, spelled);
  const flags = flagsOf(named);
  const byName = new Map<string, Target>();
  for (const [name, entry] of named)
    byName.set(name, entry.as(name, flags.get(entry) ?? [], viewNamesOf(entry, views)));
  for (const [name, target] of nameOthers(named, others, views)) byName.set(name, target);
  const targets = [...byName.values()].sort((a, b) => (a.publicName < b.publicName ? -1 : 1));

  let written: ReadonlyMap<string, readonly Target[]> | undefined;
  function called(name: string): readonly Target[] {
    written ??= byWritten(targets); // Only users write so; clients use public names.
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

/** Names the entries that only some clients see, without changing the names of the others. */
function nameOthers(
  named: ReadonlyMap<string, CatalogEntry>,
  others: readonly CatalogEntry[],
  views: ViewNames,
): readonly (readonly [string, Target])[] {
  if (others.length === 0) return [];
  const free = (entry: CatalogEntry, level: number): string => {
    let left = level;
    for (let at = 0; ; at++) {
      const name = spelled(entry, at);
      if (!named.has(name) && left-- === 0) return name;
    }
  };
  const more = nameAll(others, free);
  const flags = flagsOf(new Map([...named, ...more]));
  return [...more].map(([name, entry]) => [name, entry.as(name, flags.get(entry) ?? [], viewNamesOf(entry, views))]);
}

/** Returns the names of the views of a tool that clients see under another name than its server's. */
function viewNamesOf(entry: CatalogEntry, views: ViewNames): ReadonlyMap<string, string> | undefined {
  const uris = viewUrisOf(entry.tool.definition);
  if (uris.length === 0) return undefined;
  const server = shownServer(entry);
  const others = uris.map((uri) => [uri, views.nameOf(server, uri)] as const).filter(([uri, name]) => uri !== name);
  return others.length > 0 ? new Map(others) : undefined;
}

/** Indexes targets by `server.tool` and by the bare tool name. */
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
