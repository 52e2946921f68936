import type { HeddleError } from '../../core/errors.ts';

/** How a lost server is tried again. */
export interface Rules {
  readonly maxAttempts: number;
  readonly delayMs: number;
  /** It is wanted even when nobody calls: its first connect, too, is tried again. */
  readonly autoConnect: boolean;
}

/** Which attempt this is, of how many, and how many were spent since the server last stayed up for long. */
interface Tries {
  readonly attempt: number;
  readonly of: number;
  readonly spent: number;
}

/** Where a server is in its life. `idle`, `connecting` and `waiting` are the three ways of being pending. */
export type ServerState =
  | { readonly state: 'disabled'; readonly error: HeddleError }
  | { readonly state: 'idle'; readonly reason?: string; readonly spent: number }
  | ({ readonly state: 'connecting'; readonly error?: HeddleError } & Tries)
  | ({ readonly state: 'waiting'; readonly error: HeddleError } & Tries)
  | ({
      readonly state: 'connected';
      readonly health: 'ok' | 'unhealthy';
      readonly misses: number;
      readonly reason?: string;
    } & Tries)
  | ({ readonly state: 'failed'; readonly error: HeddleError; readonly at: number } & Tries)
  | ({ readonly state: 'needs-auth'; readonly error: HeddleError; readonly at: number } & Tries)
  /** No configuration names it any more. Nothing comes after this. */
  | { readonly state: 'closed' };

export type StateEvent =
  /** Its entry says that it is off, or cannot be started as it is written. */
  | { readonly kind: 'disabled'; readonly error: HeddleError }
  | { readonly kind: 'barred'; readonly error: HeddleError }
  | { readonly kind: 'wanted'; readonly at: number }
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly error: HeddleError; readonly mayTryAgain: boolean; readonly at: number }
  | { readonly kind: 'auth-needed'; readonly error: HeddleError; readonly at: number }
  | { readonly kind: 'dropped'; readonly error: HeddleError; readonly upMs: number; readonly at: number }
  | { readonly kind: 'retry-due' }
  | { readonly kind: 'probe-missed'; readonly error: HeddleError; readonly upMs: number; readonly at: number }
  | { readonly kind: 'probe-answered' }
  | { readonly kind: 'trouble'; readonly reason: string }
  | { readonly kind: 'disconnected' }
  | { readonly kind: 'closed' };

/** What is to be done because of a transition. `stop` ends a wait or an attempt, `hang-up` the line, `wind-down` also, once it is idle. */
export type Effect = 'open' | 'wait' | 'stop' | 'hang-up' | 'wind-down';

export interface Transition {
  readonly state: ServerState;
  readonly effects: readonly Effect[];
}

type In<S extends ServerState['state']> = Extract<ServerState, { state: S }>;
type Of<K extends StateEvent['kind']> = Extract<StateEvent, { kind: K }>;
/** What each event does in one state; where nothing is written, nothing happens. */
type Row<S extends ServerState['state']> = {
  readonly [K in StateEvent['kind']]?: (state: In<S>, event: Of<K>, rules: Rules) => Transition;
};

export const NEW: ServerState = { state: 'idle', spent: 0 };
/** A server that was up for so long is no longer one that comes and goes. */
export const STEADY_MS = 30_000;
const MISSES_TO_UNHEALTHY = 2;
const MISSES_TO_LOST = 4;

/** The life of a server: what comes after `state` when `event` happens, and what is to be done about it. */
export function reduce(state: ServerState, event: StateEvent, rules: Rules): Transition {
  // The table is typed cell by cell; indexed by two unions at once it cannot be.
  const row = TABLE[state.state] as Record<string, ((...cell: unknown[]) => Transition) | undefined>;
  return row[event.kind]?.(state, event, rules) ?? { state, effects: [] };
}

const to = (state: ServerState, ...effects: Effect[]): Transition => ({ state, effects });
const barred = (error: HeddleError) =>
  ({ state: 'failed', error, at: Number.POSITIVE_INFINITY, attempt: 0, of: 1, spent: 0 }) as const;
const CLOSED = { state: 'closed' } as const;

const TABLE: { readonly [S in ServerState['state']]: Row<S> } = {
  disabled: { closed: () => to(CLOSED) },
  idle: {
    disabled: (_, { error }) => to({ state: 'disabled', error }),
    barred: (_, { error }) => to(barred(error)),
    wanted: ({ spent }, _, { autoConnect, maxAttempts }) =>
      to({ state: 'connecting', attempt: 1, of: autoConnect ? Math.max(1, maxAttempts) : 1, spent }, 'open'),
    closed: () => to(CLOSED),
  },
  connecting: {
    opened: ({ attempt, of, spent }) =>
      to({ state: 'connected', health: 'ok', misses: 0, attempt, of, spent: of > 1 ? attempt : spent }),
    refused: refuse,
    'auth-needed': ({ attempt, of, spent }, { error, at }) =>
      to({ state: 'needs-auth', error, at, attempt, of, spent }),
    disconnected: () => to(NEW, 'stop'),
    closed: () => to(CLOSED, 'stop'),
  },
  waiting: {
    wanted: (state) => to({ ...state, state: 'connecting' }, 'stop', 'open'),
    'retry-due': (state) => to({ ...state, state: 'connecting' }, 'open'),
    disconnected: () => to(NEW, 'stop'),
    closed: () => to(CLOSED, 'stop'),
  },
  connected: {
    dropped: drop,
    'auth-needed': ({ attempt, of, spent }, { error, at }) =>
      to({ state: 'needs-auth', error, at, attempt, of, spent }, 'wind-down'),
    'probe-missed': missProbe,
    'probe-answered': ({ reason: _, ...state }) => to({ ...state, health: 'ok', misses: 0 }),
    trouble: (state, { reason }) => to({ ...state, health: 'unhealthy', reason }),
    disconnected: () => to(NEW, 'hang-up'),
    closed: () => to(CLOSED),
  },
  failed: { wanted: tryOnce, disconnected: forgive, closed: () => to(CLOSED) },
  'needs-auth': { wanted: tryOnce, disconnected: forgive, closed: () => to(CLOSED) },
  closed: {},
};

function refuse(tries: In<'connecting'>, { error, mayTryAgain, at }: Of<'refused'>): Transition {
  const { attempt, of } = tries;
  const spent = of > 1 ? attempt : tries.spent;
  if (!mayTryAgain || attempt >= of) return to({ state: 'failed', error, at, attempt, of, spent });
  return to({ state: 'waiting', error, attempt: attempt + 1, of, spent }, 'wait');
}

// One that comes and goes uses up its attempts all the same, or it would be opened for ever.
function drop(state: In<'connected'>, lost: Of<'dropped' | 'probe-missed'>, { maxAttempts: of }: Rules): Transition {
  const { error, upMs, at } = lost;
  if (of === 0) return to({ state: 'idle', reason: error.message, spent: 0 });
  const spent = upMs >= STEADY_MS ? 0 : state.spent;
  if (spent >= of) return to({ state: 'failed', error, at, attempt: of, of, spent });
  return to({ state: 'waiting', error, attempt: spent + 1, of, spent }, 'wait');
}

// One that hangs keeps its line: unless we end it, nothing ever does.
function missProbe(state: In<'connected'>, event: Of<'probe-missed'>, rules: Rules): Transition {
  const misses = state.misses + 1;
  if (misses >= MISSES_TO_LOST) {
    const lost = drop(state, event, rules);
    return to(lost.state, 'hang-up', ...lost.effects);
  }
  if (misses < MISSES_TO_UNHEALTHY || state.health === 'unhealthy') return to({ ...state, misses });
  return to({ ...state, misses, health: 'unhealthy', reason: `It did not answer ${misses} probes in a row.` });
}

/** Somebody calls a server that was given up: it is tried once, unless that was done a moment ago. */
function tryOnce(state: In<'failed' | 'needs-auth'>, { at }: Of<'wanted'>, { delayMs }: Rules): Transition {
  if (at - state.at < delayMs) return to(state);
  const { error, spent } = state;
  return to({ state: 'connecting', error, attempt: 1, of: 1, spent }, 'open');
}

// What an entry bars is barred until the entry changes.
function forgive(state: In<'failed' | 'needs-auth'>): Transition {
  return to(Number.isFinite(state.at) ? NEW : state);
}
