import type { Caller, Target } from '../core/call.ts';
import type { Servers } from '../upstream/servers.ts';
import type { LiveCatalog } from './refresh.ts';

export interface ListOptions {
  readonly catalog: LiveCatalog;
  readonly servers: Servers;
  readonly visible: (caller: Caller, target: Target) => boolean;
  readonly serverVisible: (caller: Caller, server: string) => boolean;
}

export interface Page {
  readonly items: readonly Target[];
  readonly next?: string;
}

/**
 * Makes the tools of servers known that have never been seen, all at once, and
 * waits no longer than `waitMs`. Servers seen before are not started for it.
 */
export async function discover(
  options: ListOptions,
  caller: Caller,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const { catalog, servers, serverVisible } = options;
  const unknown = servers.status().filter(({ name }) => !catalog.knows(name) && serverVisible(caller, name));
  // One that failed before is tried again, but nobody waits for it a second time.
  const attempts = unknown.map(({ name, state }) => {
    const attempt = servers.connect(name, signal).then(IGNORE, IGNORE); // Its status says why it failed.
    return state === 'failed' ? undefined : attempt;
  });
  const enough = Promise.withResolvers<void>();
  const timer = setTimeout(enough.resolve, waitMs);
  await Promise.race([Promise.all(attempts), enough.promise]);
  clearTimeout(timer);
}

const IGNORE = () => {};

/** One page of what the caller may see, after `cursor`. A cursor stays good when the catalog changes. */
export function pageOf(
  options: ListOptions,
  caller: Caller,
  { cursor, limit }: { cursor?: string; limit: number },
): Page {
  const { targets } = options.catalog.current();
  const items: Target[] = [];
  for (let at = cursor === undefined ? 0 : firstAfter(targets, cursor); at < targets.length; at++) {
    const target = targets[at] as Target;
    if (!options.visible(caller, target)) continue;
    if (items.length === limit) return { items, next: (items.at(-1) as Target).publicName };
    items.push(target);
  }
  return { items };
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
