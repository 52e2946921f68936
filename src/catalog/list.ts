import type { Caller, CatalogKind, Target } from '../core/call.ts';
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
  /** Returns how long a list waits for a server of which nothing is known, from the begin of its connect. */
  readonly firstListMs?: (() => number) | undefined;
}

export interface PageQuery extends ListFilter {
  /** Defaults to `tool`. */
  readonly kind?: CatalogKind;
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

/** A server that was started, or is starting: settles when it has listed its tools or failed. */
interface Started {
  readonly listed: Promise<unknown>;
  /** The longest wait for it. */
  readonly waitMs: number;
}

/**
 * Connects the servers whose tools for this caller are unknown, all at once. A server that failed before is tried again,
 * but not waited for. Nor is one that has been connecting for `waitMs` and has remembered tools: three lists in a row
 * would wait three times.
 */
function startUnknown(options: ListOptions, caller: Caller, starting: Starting): readonly Started[] {
  const { catalog, servers, serverVisible, firstListMs } = options;
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
  return unknown.flatMap(({ name, state, code }) => {
    // A connection waits 500 ms at most for the lists besides tools. Its status says why it failed.
    const settled = () => Promise.all([listed(name), servers.settleLists(name, { caller })]);
    const isAwaited = state !== 'failed' && !isLate(name);
    const attempt = servers.connect(name, signal, { caller }).then(settled, IGNORE);
    if (!isAwaited) return [];
    const isFirst = state === 'pending' && code === undefined && !catalog.knows(name);
    const connectingMs = isFirst ? servers.connectingMs(name) : undefined;
    const firstMs = connectingMs === undefined ? 0 : (firstListMs?.() ?? 0) - connectingMs;
    return [{ listed: attempt, waitMs: Math.max(waitMs, firstMs) }];
  });
}

/**
 * Makes the tools of servers known that no client with the caller's capabilities has seen. Waits no longer than
 * `waitMs`, or `firstListMs` for servers of which nothing is known. With 0 it starts none but built-in ones. Servers whose
 * tools are remembered for the caller are not started.
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
  const changed = builtinOnly ? [] : all.map(({ name }) => servers.settleLists(name, { caller }));
  const started = startUnknown(options, caller, { signal, waitMs });
  // Built-in servers answer at once.
  const limit = builtinOnly ? Number.POSITIVE_INFINITY : waitMs;
  const within = (ms: number) => started.filter((one) => one.waitMs === ms).map(({ listed }) => listed);
  const longer = [...new Set(started.map((one) => one.waitMs))].filter((ms) => ms !== waitMs);
  await Promise.all([waitFor([...within(waitMs), ...changed], limit), ...longer.map((ms) => waitFor(within(ms), ms))]);
  const { capabilities } = caller;
  if (!capabilities) return;
  const seen = all.map(({ name }) => name).filter((name) => serverVisible(caller, name));
  void servers.discoverToolsLater(seen, { caller, capabilities });
}

/** Waits until all have settled, no longer than `limitMs`. */
async function waitFor(all: readonly (Promise<unknown> | undefined)[], limitMs: number): Promise<void> {
  const enough = Promise.withResolvers<void>();
  const timer = limitMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(enough.resolve, limitMs);
  await Promise.race([Promise.all(all), enough.promise]);
  clearTimeout(timer);
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
export function listAllTargets(catalog: Catalog, kind: CatalogKind): readonly Target[] {
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
