import type { Caller, Target, TargetKind } from '../core/call.ts';
import type { Page } from '../core/records/listing.ts';
import type { Servers } from '../upstream/servers.ts';
import type { Catalog } from './catalog.ts';
import { type ListFilter, matchesFilter } from './categories.ts';
import type { LiveCatalog } from './live-catalog.ts';

export interface ListOptions {
  readonly catalog: LiveCatalog;
  readonly servers: Servers;
  readonly visible: (caller: Caller, target: Target) => boolean;
  readonly serverVisible: (caller: Caller, server: string) => boolean;
  /** What `visible` goes by: another object once it may answer otherwise. Without it no page is remembered. */
  readonly rules?: () => object;
}

export interface PageQuery extends ListFilter {
  /** Tools unless something else is said. */
  readonly kind?: TargetKind;
  readonly cursor?: string;
  readonly limit: number;
  /** Also what nobody can call. */
  readonly includeInvalid?: boolean;
}

interface Starting {
  readonly signal: AbortSignal;
  /** Starts no process and opens no socket. */
  readonly builtinOnly?: boolean;
}

/**
 * Connects the servers whose tools for this caller are unknown, all at once. Settles when each has listed them or
 * failed. A server that failed before is tried again, but not waited for.
 */
function startUnknown(options: ListOptions, caller: Caller, starting: Starting): Promise<unknown> {
  const { catalog, servers, serverVisible } = options;
  const { signal, builtinOnly = false } = starting;
  const { capabilities } = caller;
  const isUnknown = (name: string) => !catalog.knows(name) || servers.needsConnection(name, caller);
  const unknown = servers
    .status()
    .filter(
      ({ name, scope }) => isUnknown(name) && serverVisible(caller, name) && (!builtinOnly || scope === 'builtin'),
    );
  const listed = (name: string) =>
    capabilities ? servers.discoverToolsLater([name], { caller, capabilities }) : undefined;
  const attempts = unknown.map(({ name, state }) => {
    const attempt = servers.connect(name, signal).then(() => listed(name), IGNORE); // Its status says why it failed.
    return state === 'failed' ? undefined : attempt;
  });
  return Promise.all(attempts);
}

/**
 * Makes the tools of servers known that no client with the caller's capabilities has seen. Waits no longer than
 * `waitMs`. With 0 it starts none but built-in ones. Servers whose tools are remembered for the caller are not started.
 */
export async function startUnknownServers(
  options: ListOptions,
  caller: Caller,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const { servers, serverVisible } = options;
  const all = servers.status();
  for (const { name } of all) servers.connected(name)?.refreshExpiredLists();
  const builtinOnly = waitMs === 0;
  const enough = Promise.withResolvers<void>();
  // Built-in servers answer at once.
  const timer = builtinOnly || waitMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(enough.resolve, waitMs);
  const changed = builtinOnly ? [] : all.map(({ name }) => servers.settleLists(name, { caller }));
  await Promise.race([
    Promise.all([startUnknown(options, caller, { signal, builtinOnly }), ...changed]),
    enough.promise,
  ]);
  clearTimeout(timer);
  const { capabilities } = caller;
  if (!capabilities) return;
  const seen = all.map(({ name }) => name).filter((name) => serverVisible(caller, name));
  void servers.discoverToolsLater(seen, { caller, capabilities });
}

const IGNORE = () => {};

interface Remembered {
  readonly catalog: Catalog;
  readonly rules: object;
  readonly pages: Map<string, Page<Target>>;
}

// By the caller itself, not by its name: whatever a rule may ask about a caller is then the same.
const remembered = new WeakMap<Caller, Remembered>();
const MAX_REMEMBERED = 100;
const MAX_KEY_CHARS = 1024;

/** One page of what the caller may see, after `cursor`. A cursor stays good when the catalog changes. */
export function pageOf(options: ListOptions, caller: Caller, query: PageQuery): Page<Target> {
  const catalog = options.catalog.current(caller);
  const pages = pagesOf(catalog, options.rules?.(), caller);
  const { kind, cursor, limit, includeInvalid, server, category } = query;
  const key = JSON.stringify([kind, cursor, limit, includeInvalid, server, category]);
  const known = pages?.get(key);
  if (known) return known;
  const page = pageAnew(options, caller, query);
  // Cursors are the client's to choose.
  if (!pages || key.length > MAX_KEY_CHARS) return page;
  if (pages.size >= MAX_REMEMBERED) pages.clear();
  pages.set(key, page);
  return page;
}

function pagesOf(catalog: Catalog, rules: object | undefined, caller: Caller): Map<string, Page<Target>> | undefined {
  if (!rules) return undefined;
  const known = remembered.get(caller);
  if (known?.catalog === catalog && known.rules === rules) return known.pages;
  const pages = new Map<string, Page<Target>>();
  remembered.set(caller, { catalog, rules, pages });
  return pages;
}

function pageAnew(options: ListOptions, caller: Caller, query: PageQuery): Page<Target> {
  const { kind = 'tool', cursor, limit, includeInvalid = false } = query;
  const targets = listAllTargets(options.catalog.current(caller), kind);
  const items: Target[] = [];
  for (let at = cursor === undefined ? 0 : firstAfter(targets, cursor); at < targets.length; at++) {
    const target = targets[at] as Target;
    if (!matchesFilter(target, query) || !options.visible(caller, target)) continue;
    if (!includeInvalid && target.invalid !== undefined) continue;
    if (items.length >= Math.max(limit, 1)) return { items, next: (items.at(-1) as Target).publicName };
    items.push(target);
  }
  return { items };
}

/** All there is of one kind, in order. */
export function listAllTargets(catalog: Catalog, kind: TargetKind): readonly Target[] {
  if (kind === 'tool') return catalog.targets;
  if (kind === 'prompt') return catalog.prompts.targets;
  return kind === 'resource' ? catalog.resources.targets : catalog.resources.templates;
}

function firstAfter(targets: readonly Target[], name: string): number {
  let low = 0;
  let high = targets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((targets[middle] as Target).publicName <= name) low = middle + 1;
    else high = middle;
  }
  return low;
}
