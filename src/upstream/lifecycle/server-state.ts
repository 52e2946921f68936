import type { HeddleError } from '../../core/errors.ts';
import type { LostSession } from '../connection.ts';

/** The rules by which a hanging server is detected and a lost one reconnected. */
export interface ReconnectRules {
  /** The missed probes in a row that make a server unhealthy. */
  readonly misses: number;
  readonly maxAttempts: number;
  readonly delayMs: number;
  /** True when the server is connected without a call: its first connect, too, is retried. */
  readonly autoConnect: boolean;
}

/** The number of this attempt, their maximum, and those used since the server last stayed up for 30 s. */
interface Tries {
  readonly attempt: number;
  readonly of: number;
  readonly spent: number;
}

/** The state of a server. `idle`, `connecting` and `waiting` are shown as `pending`. */
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
  /** The final state: the server was removed from the configuration, or Heddle closes. */
  | { readonly state: 'closed' };

export type StateEvent =
  /** `disabled`: its entry has `enabled: false`. `barred`: its entry cannot be started as it is written. */
  | { readonly kind: 'disabled'; readonly error: HeddleError }
  | { readonly kind: 'barred'; readonly error: HeddleError }
  | { readonly kind: 'wanted'; readonly at: number }
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly error: HeddleError; readonly mayTryAgain: boolean; readonly at: number }
  | { readonly kind: 'auth-needed'; readonly error: HeddleError; readonly at: number }
  | {
      readonly kind: 'dropped';
      readonly error: HeddleError;
      readonly upMs: number;
      readonly at: number;
      readonly lostSession?: LostSession;
    }
  /** The refusal that needed a sign-in has ended: by a newer credential, or after its time. */
  | { readonly kind: 'signed-in' }
  | { readonly kind: 'retry-due' }
  | { readonly kind: 'probe-missed'; readonly error: HeddleError; readonly upMs: number; readonly at: number }
  | { readonly kind: 'probe-answered' }
  | { readonly kind: 'trouble'; readonly reason: string }
  | { readonly kind: 'disconnected' }
  | { readonly kind: 'closed' };

/** The action after a transition. `cancel` ends a wait or an attempt, `close` the connection at once, `drain` once it is idle. */
export type StateEffect = 'open' | 'wait' | 'cancel' | 'close' | 'drain';

export interface Transition {
  readonly state: ServerState;
  readonly effects: readonly StateEffect[];
}

type In<S extends ServerState['state']> = Extract<ServerState, { state: S }>;
type Of<K extends StateEvent['kind']> = Extract<StateEvent, { kind: K }>;
/** The transitions of one state; an event without one changes nothing. */
type Row<S extends ServerState['state']> = {
  readonly [K in StateEvent['kind']]?: (state: In<S>, event: Of<K>, rules: ReconnectRules) => Transition;
};

export const INITIAL_STATE: ServerState = { state: 'idle', spent: 0 };
/** After this time up a server has all its reconnect attempts again. */
export const STEADY_MS = 30_000;

/** Returns the state that follows `state` after `event`, and the effects to perform. */
export function reduce(state: ServerState, event: StateEvent, rules: ReconnectRules): Transition {
  // The table is typed cell by cell. TypeScript cannot index it by two unions at once.
  const row = TABLE[state.state] as Record<string, ((...cell: unknown[]) => Transition) | undefined>;
  return row[event.kind]?.(state, event, rules) ?? { state, effects: [] };
}

const to = (state: ServerState, ...effects: StateEffect[]): Transition => ({ state, effects });
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
    disconnected: () => to(INITIAL_STATE, 'cancel'),
    closed: () => to(CLOSED, 'cancel'),
  },
  waiting: {
    wanted: (state) => to({ ...state, state: 'connecting' }, 'cancel', 'open'),
    'retry-due': (state) => to({ ...state, state: 'connecting' }, 'open'),
    disconnected: () => to(INITIAL_STATE, 'cancel'),
    closed: () => to(CLOSED, 'cancel'),
  },
  connected: {
    dropped: drop,
    'auth-needed': ({ attempt, of, spent }, { error, at }) =>
      to({ state: 'needs-auth', error, at, attempt, of, spent }, 'drain'),
    'probe-missed': missProbe,
    'probe-answered': ({ reason: _, ...state }) => to({ ...state, health: 'ok', misses: 0 }),
    trouble: (state, { reason }) => to({ ...state, health: 'unhealthy', reason }),
    disconnected: () => to(INITIAL_STATE, 'close'),
    closed: () => to(CLOSED),
  },
  failed: { wanted: tryOnce, disconnected: forgive, closed: () => to(CLOSED) },
  'needs-auth': { wanted: tryOnce, 'signed-in': forgive, disconnected: forgive, closed: () => to(CLOSED) },
  closed: {},
};

function refuse(tries: In<'connecting'>, { error, mayTryAgain, at }: Of<'refused'>): Transition {
  const { attempt, of } = tries;
  const spent = of > 1 ? attempt : tries.spent;
  if (!mayTryAgain || attempt >= of) return to({ state: 'failed', error, at, attempt, of, spent });
  return to({ state: 'waiting', error, attempt: attempt + 1, of, spent }, 'wait');
}

// A server that drops soon after each connect uses up its attempts, or it would be reopened for ever.
function drop(
  state: In<'connected'>,
  lost: Of<'dropped' | 'probe-missed'>,
  { maxAttempts: of }: ReconnectRules,
): Transition {
  const { error, upMs, at } = lost;
  if (of === 0) return to({ state: 'idle', reason: error.message, spent: 0 });
  const spent = upMs >= STEADY_MS ? 0 : Math.max(0, state.spent - uncounted(lost));
  if (spent >= of) return to({ state: 'failed', error, at, attempt: of, of, spent });
  return to({ state: 'waiting', error, attempt: spent + 1, of, spent }, 'wait');
}

// The attempt that opened a session is not counted if the session was used: the server works, and forgets sessions.
const uncounted = (lost: Of<'dropped' | 'probe-missed'>): number =>
  lost.kind === 'dropped' && lost.lostSession === 'used' ? 1 : 0;

// A server that hangs keeps its connection open, so it is closed after twice the misses of an unhealthy one.
function missProbe(state: In<'connected'>, event: Of<'probe-missed'>, rules: ReconnectRules): Transition {
  const misses = state.misses + 1;
  if (misses >= 2 * rules.misses) {
    const lost = drop(state, event, rules);
    return to(lost.state, 'close', ...lost.effects);
  }
  if (misses < rules.misses || state.health === 'unhealthy') return to({ ...state, misses });
  return to({
    ...state,
    misses,
    health: 'unhealthy',
    reason: `It did not answer ${misses === 1 ? 'a probe' : `${misses} probes in a row`}.`,
  });
}

/** Connects a failed server once for a call, unless that was tried within `delayMs`. */
function tryOnce(state: In<'failed' | 'needs-auth'>, { at }: Of<'wanted'>, { delayMs }: ReconnectRules): Transition {
  if (at - state.at < delayMs) return to(state);
  const { error, spent } = state;
  return to({ state: 'connecting', error, attempt: 1, of: 1, spent }, 'open');
}

// A barred server (`at` is infinite) stays barred until its entry changes.
function forgive(state: In<'failed' | 'needs-auth'>): Transition {
  return to(Number.isFinite(state.at) ? INITIAL_STATE : state);
}
