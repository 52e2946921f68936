import type { Caller, Target, TargetKind } from '../core/call.ts';
import type { Page } from '../core/records/listing.ts';
import { isEarlierFailure } from '../core/records/server-status.ts';
import type { Servers } from '../upstream/servers.ts';
import type { Catalog } from './catalog.ts';
import { type ListFilter, matchesFilter } from './categories.ts';
import type { LiveCatalog } from './live-catalog.ts';

export interface ListOptions {
  readonly catalog: LiveCatalog;
  readonly servers: Servers;
  readonly visible: (caller: Caller, target: Target) => boolean;
  readonly serverVisible: (caller: Caller, server: string) => boolean;
  /** Returns an identity that changes with the results of `visible`. Without it no page is cached. */
  readonly rules?: () => object;
}

export interface PageQuery extends ListFilter {
  /** Defaults to `tool`. */
  readonly kind?: TargetKind;
  readonly cursor?: string;
  readonly limit: number;
  /** Includes entries that are `invalid`. */
  readonly includeInvalid?: boolean;
}

interface Starting {
  readonly signal: AbortSignal;
  /** The longest wait of the list. With 0 no process is started and no socket is opened. */
  readonly waitMs: number;
}

/**
 * Connects the servers whose tools for this caller are unknown, all at once. Settles when each has listed them or
 * failed. A server that failed before is tried again, but not waited for. Nor is one that has been connecting for
 * `waitMs` and has remembered tools: three lists in a row would wait three times.
 */
function startUnknown(options: ListOptions, caller: Caller, starting: Starting): Promise<unknown> {
  const { catalog, servers, serverVisible } = options;
  const { signal, waitMs } = starting;
  const { capabilities } = caller;
  const isUnknown = (name: string) =>
    servers.needsConnection(name, caller) || (!catalog.knows(name) && !servers.hasUserCredentials(name));
  const unknown = servers
    .status()
    .filter(({ name, scope }) => isUnknown(name) && serverVisible(caller, name) && (waitMs > 0 || scope === 'builtin'))
    .filter((status) => !isEarlierFailure(status));
  const isLate = (name: string) => catalog.knows(name) && (servers.connectingMs(name) ?? 0) >= waitMs;
  const listed = (name: string) =>
    capabilities ? servers.discoverToolsLater([name], { caller, capabilities }) : undefined;
  const attempts = unknown.map(({ name, state }) => {
    // A connection waits 500 ms at most for the lists besides tools. Its status says why it failed.
    const settled = () => Promise.all([listed(name), servers.settleLists(name, { caller })]);
    const isAwaited = state !== 'failed' && !isLate(name);
    const attempt = servers.connect(name, signal, { caller }).then(settled, IGNORE);
    return isAwaited ? attempt : undefined;
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
  for (const { name } of all) servers.connected(name, { caller })?.refreshExpiredLists();
  const builtinOnly = waitMs === 0;
  const enough = Promise.withResolvers<void>();
  // Built-in servers answer at once.
  const timer = builtinOnly || waitMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(enough.resolve, waitMs);
  const changed = builtinOnly ? [] : all.map(({ name }) => servers.settleLists(name, { caller }));
  await Promise.race([Promise.all([startUnknown(options, caller, { signal, waitMs }), ...changed]), enough.promise]);
  clearTimeout(timer);
  const { capabilities } = caller;
  if (!capabilities) return;
  const seen = all.map(({ name }) => name).filter((name) => serverVisible(caller, name));
  void servers.discoverToolsLater(seen, { caller, capabilities });
}

const IGNORE = () => {};

interface CachedPages {
  readonly catalog: Catalog;
  readonly rules: object;
  readonly pages: Map<string, Page<Target>>;
}

// Keyed by the caller object: rules may depend on any of its fields.
const cachedPages = new WeakMap<Caller, CachedPages>();
const MAX_PAGES = 100;
const MAX_KEY_CHARS = 1024;

/** Returns a page of the entries that the caller may see, after `cursor`. A cursor stays valid when the catalog changes. */
export function pageOf(options: ListOptions, caller: Caller, query: PageQuery): Page<Target> {
  const catalog = options.catalog.current(caller);
  const pages = pagesOf(catalog, options.rules?.(), caller);
  const { kind, cursor, limit, includeInvalid, server, category } = query;
  const key = JSON.stringify([kind, cursor, limit, includeInvalid, server, category]);
  const known = pages?.get(key);
  if (known) return known;
  const page = pageAnew(options, caller, query);
  // The client chooses the cursor, so a long key is not cached.
  if (!pages || key.length > MAX_KEY_CHARS) return page;
  if (pages.size >= MAX_PAGES) pages.clear();
  pages.set(key, page);
  return page;
}

function pagesOf(catalog: Catalog, rules: object | undefined, caller: Caller): Map<string, Page<Target>> | undefined {
  if (!rules) return undefined;
  const known = cachedPages.get(caller);
  if (known?.catalog === catalog && known.rules === rules) return known.pages;
  const pages = new Map<string, Page<Target>>();
  cachedPages.set(caller, { catalog, rules, pages });
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

/** Returns all entries of one kind, sorted. */
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
