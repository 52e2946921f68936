import type { JsonObject } from '../../core/call.ts';
import type { Clock, Timer } from '../../core/time.ts';
import type { Connection, ListKind } from '../connection.ts';

export const LIST_KINDS: readonly ListKind[] = ['tools', 'resources', 'templates', 'prompts'];

export interface RefreshListsOptions {
  readonly clock: Clock;
  readonly timer: Timer;
  /** All unless said; the tools are always among them. */
  readonly kinds?: readonly ListKind[];
  /** Ends whatever is being asked. */
  readonly signal: AbortSignal;
  readonly onList: (kind: ListKind, items: readonly JsonObject[]) => void;
  /** A list that could not be had; the one before stays. */
  readonly onFailure: (kind: ListKind, thrown: unknown) => void;
}

/** The lists of one line, asked for once and again whenever the server says that one has changed. */
export interface ListRefresher {
  /** Takes a notification of the server, from its very first moment. */
  onNotification(method: string): void;
  /** Asks for every list. Settles with the tools, or fails as they do; the others are waited for no more than a moment. */
  begin(connection: Connection, signal: AbortSignal): Promise<void>;
  /** Fetches at once the lists known to have changed; undefined when there are none. Never rejects. */
  settle(): Promise<void> | undefined;
  close(): void;
}

interface Keeping {
  /** Busy from the start: what changes before the first list is there is asked for again after it. */
  busy: boolean;
  again: boolean;
  firstHeard: number;
  lastHeard: number;
  cancel: (() => void) | undefined;
  /** The fetch in flight after a change. */
  fetching: Promise<void> | undefined;
  /** How often in a row it could not be had, and what ends the wait for the next try. */
  failures: number;
  cancelRetry: (() => void) | undefined;
}

const QUIET_MS = 300;
const LONGEST_QUIET_MS = 2000;
const OTHERS_MS = 500;
const RETRY_MS = 2000;
const MAX_RETRIES = 5;
const CHANGED: Readonly<Record<string, readonly ListKind[]>> = {
  'notifications/tools/list_changed': ['tools'],
  'notifications/resources/list_changed': ['resources', 'templates'],
  'notifications/prompts/list_changed': ['prompts'],
};

/**
 * One refresh for a storm of changes: it waits until the storm is over, but never for long, and while one is under
 * way the next is only remembered.
 */
export function refreshLists(options: RefreshListsOptions): ListRefresher {
  const { clock, timer, onList, kinds = LIST_KINDS } = options;
  const kept = new Map<ListKind, Keeping>(kinds.map((kind) => [kind, unheard()]));
  let line: Connection | undefined;
  let closed = false;

  // A server that had a bad moment does not say again that its list has changed.
  function fail(kind: ListKind, one: Keeping, thrown: unknown): void {
    if (closed) return;
    options.onFailure(kind, thrown);
    if (one.cancel || one.busy || one.failures >= MAX_RETRIES) return;
    one.cancelRetry = timer(RETRY_MS * 2 ** one.failures++, () => refresh(kind, one));
  }

  function refresh(kind: ListKind, one: Keeping): void {
    const fetching = ask(kind, one, options.signal).catch((thrown) => fail(kind, one, thrown));
    one.fetching = fetching.finally(() => (one.fetching = undefined));
  }

  function change(kind: ListKind, one: Keeping): void {
    one.lastHeard = clock();
    if (one.busy) one.again = true;
    else if (!one.cancel) {
      one.cancelRetry?.();
      one.failures = 0;
      one.firstHeard = one.lastHeard;
      wait(kind, one, QUIET_MS);
    }
  }

  // A timer for each notification would cost more than the storm itself: the one there is looks again when it rings.
  function wait(kind: ListKind, one: Keeping, delayMs: number): void {
    one.cancel = timer(delayMs, () => {
      one.cancel = undefined;
      const quietAt = Math.min(one.lastHeard + QUIET_MS, one.firstHeard + LONGEST_QUIET_MS);
      if (quietAt > clock()) wait(kind, one, quietAt - clock());
      else refresh(kind, one);
    });
  }

  async function ask(kind: ListKind, one: Keeping, signal: AbortSignal): Promise<void> {
    one.busy = true;
    try {
      const items = await line?.list(kind, signal);
      one.failures = 0;
      if (items && !closed) onList(kind, items);
    } finally {
      one.busy = false;
      const again = one.again && !closed;
      one.again = false;
      if (again) change(kind, one);
    }
  }

  return {
    onNotification(method) {
      if (closed || !Object.hasOwn(CHANGED, method)) return;
      for (const [kind, one] of kept) if (CHANGED[method]?.includes(kind)) change(kind, one);
    },
    async begin(connection, signal) {
      line = connection;
      const others = [...kept].map(([kind, one]) => {
        const asked = ask(kind, one, signal);
        return kind === 'tools' ? asked : asked.catch((thrown) => fail(kind, one, thrown));
      });
      await others[0];
      await atMost(OTHERS_MS, timer, Promise.all(others));
    },
    settle: () => fetchChanged(kept, refresh),
    close() {
      closed = true;
      for (const { cancel, cancelRetry } of kept.values()) for (const end of [cancel, cancelRetry]) end?.();
    },
  };
}

async function atMost(delayMs: number, alarm: Timer, work: Promise<unknown>): Promise<void> {
  const enough = Promise.withResolvers<void>();
  const cancel = alarm(delayMs, enough.resolve);
  await Promise.race([work, enough.promise]);
  cancel();
}

type Refresh = (kind: ListKind, one: Keeping) => void;

function fetchChanged(kept: ReadonlyMap<ListKind, Keeping>, refresh: Refresh): Promise<void> | undefined {
  const changed = [...kept].filter(([, one]) => one.cancel || one.fetching);
  if (changed.length === 0) return undefined;
  return Promise.all(changed.map(([kind, one]) => fetchNow(one, () => refresh(kind, one)))).then(() => {});
}

/** Fetches a changed list without waiting for further changes, and once more when it changed meanwhile. */
async function fetchNow(one: Keeping, fetch: () => void): Promise<void> {
  for (let fetches = 0; fetches < 2 && (one.cancel || one.fetching); fetches++) {
    if (one.cancel && !one.busy) {
      one.cancel();
      one.cancel = undefined;
      fetch();
    }
    await one.fetching;
  }
}

const unheard = (): Keeping => ({
  busy: true,
  again: false,
  firstHeard: 0,
  lastHeard: 0,
  cancel: undefined,
  fetching: undefined,
  failures: 0,
  cancelRetry: undefined,
});
