import type { JsonObject } from '../../core/call.ts';
import type { Clock, Timer } from '../../core/time.ts';
import type { Connection, ListKind } from '../connection.ts';

export const LIST_KINDS: readonly ListKind[] = ['tools', 'resources', 'templates', 'prompts'];

export interface RefreshListsOptions {
  readonly clock: Clock;
  readonly timer: Timer;
  /** The lists to keep; all unless given. Must contain `tools`. */
  readonly kinds?: readonly ListKind[];
  /** Ends the requests in flight. */
  readonly signal: AbortSignal;
  readonly onList: (kind: ListKind, items: readonly JsonObject[]) => void;
  /** Receives the failure of a list; the list before stays valid. */
  readonly onFailure: (kind: ListKind, thrown: unknown) => void;
}

/** The lists of one connection, fetched once and again after each `list_changed` notification. */
export interface ListRefresher {
  /** Takes a notification of the server, also before `begin`. */
  onNotification(method: string): void;
  /** Fetches every list. Settles or fails with the tools; waits 500 ms at most for the others. */
  begin(connection: Connection, signal: AbortSignal): Promise<void>;
  /** Waits for the fetches in flight, and fetches at once the lists known to have changed; undefined if there are none. Never rejects. */
  settle(): Promise<void> | undefined;
  close(): void;
}

interface ListState {
  /** True from the start: a change before the first list has arrived causes another fetch after it. */
  busy: boolean;
  again: boolean;
  firstChangeAt: number;
  lastChangeAt: number;
  cancel: (() => void) | undefined;
  /** The fetch in flight; of the tools only after a change. */
  fetching: Promise<void> | undefined;
  /** Failures in a row, and the cancel function of the next retry. */
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
 * Fetches a list once for many changes: it waits for 300 ms without a change, 2 s at most. A change during a fetch
 * causes one more fetch after it.
 */
export function refreshLists(options: RefreshListsOptions): ListRefresher {
  const { clock, timer, onList, kinds = LIST_KINDS } = options;
  const states = new Map<ListKind, ListState>(kinds.map((kind) => [kind, initialState()]));
  let current: Connection | undefined;
  let closed = false;

  // Retries up to 5 times: the server does not repeat its `list_changed`.
  function fail(kind: ListKind, one: ListState, thrown: unknown): void {
    if (!closed) options.onFailure(kind, thrown);
    if (closed || one.cancel || one.busy || one.failures >= MAX_RETRIES) return;
    one.cancelRetry = timer(RETRY_MS * 2 ** one.failures++, () => refresh(kind, one));
  }

  /** Fetches a list; `settle` waits for it. */
  function refresh(kind: ListKind, one: ListState, signal = options.signal): Promise<void> {
    const ended = fetch(kind, one, signal).catch((thrown) => fail(kind, one, thrown));
    one.fetching = ended.finally(() => (one.fetching = undefined));
    return ended;
  }

  function change(kind: ListKind, one: ListState): void {
    one.lastChangeAt = clock();
    if (one.busy) one.again = true;
    else if (!one.cancel) {
      one.cancelRetry?.();
      one.failures = 0;
      one.firstChangeAt = one.lastChangeAt;
      wait(kind, one, QUIET_MS);
    }
  }

  // One timer for all changes: when it fires, it checks for later changes and waits again if needed.
  function wait(kind: ListKind, one: ListState, delayMs: number): void {
    one.cancel = timer(delayMs, () => {
      one.cancel = undefined;
      const quietAt = Math.min(one.lastChangeAt + QUIET_MS, one.firstChangeAt + LONGEST_QUIET_MS);
      if (quietAt > clock()) wait(kind, one, quietAt - clock());
      else refresh(kind, one);
    });
  }

  async function fetch(kind: ListKind, one: ListState, signal: AbortSignal): Promise<void> {
    one.busy = true;
    try {
      const items = await current?.list(kind, signal);
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
      for (const [kind, one] of states) if (CHANGED[method]?.includes(kind)) change(kind, one);
    },
    async begin(connection, signal) {
      current = connection;
      const others = [...states].map(([kind, one]) =>
        kind === 'tools' ? fetch(kind, one, signal) : refresh(kind, one, signal),
      );
      await others[0];
      await atMost(OTHERS_MS, timer, Promise.all(others));
    },
    settle: () => fetchChanged(states, refresh),
    close() {
      closed = true;
      for (const { cancel, cancelRetry } of states.values()) for (const end of [cancel, cancelRetry]) end?.();
    },
  };
}

async function atMost(delayMs: number, timer: Timer, work: Promise<unknown>): Promise<void> {
  const enough = Promise.withResolvers<void>();
  const cancel = timer(delayMs, enough.resolve);
  await Promise.race([work, enough.promise]);
  cancel();
}

type Refresh = (kind: ListKind, one: ListState) => void;

function fetchChanged(states: ReadonlyMap<ListKind, ListState>, refresh: Refresh): Promise<void> | undefined {
  const changed = [...states].filter(([, one]) => one.cancel || one.fetching);
  if (changed.length === 0) return undefined;
  return Promise.all(changed.map(([kind, one]) => fetchNow(one, () => refresh(kind, one)))).then(() => {});
}

/** Fetches a changed list without waiting for further changes, and once more when it changed meanwhile. */
async function fetchNow(one: ListState, fetch: () => void): Promise<void> {
  for (let fetches = 0; fetches < 2 && (one.cancel || one.fetching); fetches++) {
    if (one.cancel && !one.busy) {
      one.cancel();
      one.cancel = undefined;
      fetch();
    }
    await one.fetching;
  }
}

const initialState = (): ListState => ({
  busy: true,
  again: false,
  firstChangeAt: 0,
  lastChangeAt: 0,
  cancel: undefined,
  fetching: undefined,
  failures: 0,
  cancelRetry: undefined,
});
