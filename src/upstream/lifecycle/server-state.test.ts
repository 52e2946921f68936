import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import {
  INITIAL_STATE,
  type ReconnectRules,
  reduce,
  type ServerState,
  STEADY_MS,
  type StateEffect,
  type StateEvent,
} from './server-state.ts';

const error = new UpstreamError('UPSTREAM_UNREACHABLE', 'It is gone.', { delivered: 'no' });
const off = new HeddleError('SERVER_DISABLED', 'It is off.');
const rules: ReconnectRules = { maxAttempts: 3, delayMs: 5000, autoConnect: false, misses: 2 };
const AT = 100_000;

const STATES = {
  disabled: { state: 'disabled', error: off },
  idle: INITIAL_STATE,
  connecting: { state: 'connecting', attempt: 2, of: 3, spent: 1, error },
  waiting: { state: 'waiting', attempt: 2, of: 3, spent: 1, error },
  connected: { state: 'connected', attempt: 1, of: 3, spent: 1, health: 'ok', misses: 0 },
  failed: { state: 'failed', attempt: 3, of: 3, spent: 3, error, at: AT },
  'needs-auth': { state: 'needs-auth', attempt: 1, of: 1, spent: 0, error, at: AT },
  closed: { state: 'closed' },
} as const satisfies Record<ServerState['state'], ServerState>;

const EVENTS = {
  disabled: { kind: 'disabled', error: off },
  barred: { kind: 'barred', error },
  wanted: { kind: 'wanted', at: AT + 5000 },
  opened: { kind: 'opened' },
  refused: { kind: 'refused', error, mayTryAgain: true, at: AT },
  'auth-needed': { kind: 'auth-needed', error, at: AT },
  dropped: { kind: 'dropped', error, upMs: 10, at: AT },
  'signed-in': { kind: 'signed-in' },
  'retry-due': { kind: 'retry-due' },
  'probe-missed': { kind: 'probe-missed', error, upMs: 10, at: AT },
  'probe-answered': { kind: 'probe-answered' },
  trouble: { kind: 'trouble', reason: 'It shouts.' },
  disconnected: { kind: 'disconnected' },
  closed: { kind: 'closed' },
} as const satisfies Record<StateEvent['kind'], StateEvent>;

/** The next state and its effects; undefined if the event changes nothing. */
type Cell = readonly [Partial<ServerState>, ...StateEffect[]] | undefined;
const CLOSED = { state: 'closed' } as const;
const RECONNECT: Cell = [{ state: 'connecting', attempt: 1, of: 1 }, 'open'];
const NOTHING = undefined;

const TABLE: Record<ServerState['state'], Record<StateEvent['kind'], Cell>> = {
  disabled: {
    disabled: NOTHING,
    barred: NOTHING,
    wanted: NOTHING,
    opened: NOTHING,
    refused: NOTHING,
    'auth-needed': NOTHING,
    dropped: NOTHING,
    'signed-in': NOTHING,
    'retry-due': NOTHING,
    'probe-missed': NOTHING,
    'probe-answered': NOTHING,
    trouble: NOTHING,
    disconnected: NOTHING,
    closed: [CLOSED],
  },
  idle: {
    disabled: [{ state: 'disabled', error: off }],
    barred: [{ state: 'failed', error, attempt: 0, of: 1 }],
    wanted: RECONNECT,
    opened: NOTHING,
    refused: NOTHING,
    'auth-needed': NOTHING,
    dropped: NOTHING,
    'signed-in': NOTHING,
    'retry-due': NOTHING,
    'probe-missed': NOTHING,
    'probe-answered': NOTHING,
    trouble: NOTHING,
    disconnected: NOTHING,
    closed: [CLOSED],
  },
  connecting: {
    disabled: NOTHING,
    barred: NOTHING,
    wanted: NOTHING,
    opened: [{ state: 'connected', attempt: 2, of: 3, spent: 2, health: 'ok', misses: 0 }],
    refused: [{ state: 'waiting', attempt: 3, of: 3, spent: 2, error }, 'wait'],
    'auth-needed': [{ state: 'needs-auth', error, at: AT }],
    dropped: NOTHING,
    'signed-in': NOTHING,
    'retry-due': NOTHING,
    'probe-missed': NOTHING,
    'probe-answered': NOTHING,
    trouble: NOTHING,
    disconnected: [INITIAL_STATE, 'cancel'],
    closed: [CLOSED, 'cancel'],
  },
  waiting: {
    disabled: NOTHING,
    barred: NOTHING,
    wanted: [{ state: 'connecting', attempt: 2, of: 3 }, 'cancel', 'open'],
    opened: NOTHING,
    refused: NOTHING,
    'auth-needed': NOTHING,
    dropped: NOTHING,
    'signed-in': NOTHING,
    'retry-due': [{ state: 'connecting', attempt: 2, of: 3 }, 'open'],
    'probe-missed': NOTHING,
    'probe-answered': NOTHING,
    trouble: NOTHING,
    disconnected: [INITIAL_STATE, 'cancel'],
    closed: [CLOSED, 'cancel'],
  },
  connected: {
    disabled: NOTHING,
    barred: NOTHING,
    wanted: NOTHING,
    opened: NOTHING,
    refused: NOTHING,
    'auth-needed': [{ state: 'needs-auth', error, at: AT }, 'drain'],
    dropped: [{ state: 'waiting', attempt: 2, of: 3, error }, 'wait'],
    'signed-in': NOTHING,
    'retry-due': NOTHING,
    'probe-missed': [{ state: 'connected', health: 'ok', misses: 1 }],
    'probe-answered': [{ state: 'connected', health: 'ok', misses: 0 }],
    trouble: [{ state: 'connected', health: 'unhealthy', reason: 'It shouts.' }],
    disconnected: [INITIAL_STATE, 'close'],
    closed: [CLOSED],
  },
  failed: {
    disabled: NOTHING,
    barred: NOTHING,
    wanted: RECONNECT,
    opened: NOTHING,
    refused: NOTHING,
    'auth-needed': NOTHING,
    dropped: NOTHING,
    'signed-in': NOTHING,
    'retry-due': NOTHING,
    'probe-missed': NOTHING,
    'probe-answered': NOTHING,
    trouble: NOTHING,
    disconnected: [INITIAL_STATE],
    closed: [CLOSED],
  },
  'needs-auth': {
    disabled: NOTHING,
    barred: NOTHING,
    wanted: RECONNECT,
    opened: NOTHING,
    refused: NOTHING,
    'auth-needed': NOTHING,
    dropped: NOTHING,
    'signed-in': [INITIAL_STATE],
    'retry-due': NOTHING,
    'probe-missed': NOTHING,
    'probe-answered': NOTHING,
    trouble: NOTHING,
    disconnected: [INITIAL_STATE],
    closed: [CLOSED],
  },
  closed: {
    disabled: NOTHING,
    barred: NOTHING,
    wanted: NOTHING,
    opened: NOTHING,
    refused: NOTHING,
    'auth-needed': NOTHING,
    dropped: NOTHING,
    'signed-in': NOTHING,
    'retry-due': NOTHING,
    'probe-missed': NOTHING,
    'probe-answered': NOTHING,
    trouble: NOTHING,
    disconnected: NOTHING,
    closed: NOTHING,
  },
};

const kinds = Object.keys(EVENTS) as StateEvent['kind'][];
for (const name of Object.keys(STATES) as ServerState['state'][]) {
  verifies('T2', `defines the transition of every event in the state ${name}`, () => {
    // The compiler demands every cell. This check holds also without the compiler.
    expect(Object.keys(TABLE[name]).sort()).toEqual([...kinds].sort());
    for (const kind of kinds) {
      const { state, effects } = reduce(STATES[name], EVENTS[kind], rules);
      const [after, ...todo] = TABLE[name][kind] ?? [STATES[name]];
      expect(state, `${kind} when ${name}`).toMatchObject(after);
      expect(effects, `${kind} when ${name}`).toEqual(todo);
      if (!TABLE[name][kind]) expect(state, `${kind} when ${name}`).toBe(STATES[name]);
    }
  });
}

/** Applies events, one after the other. */
const live = (events: readonly StateEvent[], from: ServerState = INITIAL_STATE, given = rules): ServerState =>
  events.reduce((state, event) => reduce(state, event, given).state, from);
const { wanted, opened, refused, dropped } = EVENTS;
const due = EVENTS['retry-due'];

verifies('T5', 'fails after the allowed number of attempts', () => {
  const lost = live([wanted, opened, dropped]);
  expect(lost).toMatchObject({ state: 'waiting', attempt: 1, of: 3 });
  expect(live([due, refused, due, refused], lost)).toMatchObject({ state: 'waiting', attempt: 3, of: 3 });
  expect(live([due, refused, due, refused, due, refused], lost)).toMatchObject({ state: 'failed', attempt: 3, error });
});

verifies('T5', 'tries the first connect once without autoConnect', () => {
  expect(live([wanted, refused])).toMatchObject({ state: 'failed', attempt: 1, of: 1 });
  const eager = { ...rules, autoConnect: true };
  expect(live([wanted, refused], INITIAL_STATE, eager)).toMatchObject({ state: 'waiting', attempt: 2, of: 3 });
  expect(live([wanted, { ...refused, mayTryAgain: false }], INITIAL_STATE, eager)).toMatchObject({ state: 'failed' });
});

verifies('T5', 'counts attempts of a server that drops soon after each connect, and resets them after 30 s up', () => {
  const flap = [due, opened, dropped];
  const lost = live([wanted, opened, dropped]);
  expect(live([...flap, ...flap], lost)).toMatchObject({ state: 'waiting', attempt: 3 });
  const worn = live([...flap, ...flap, ...flap], lost);
  expect(worn).toMatchObject({ state: 'failed', attempt: 3, of: 3 });
  expect(live([{ ...wanted, at: AT + 5000 }, opened, dropped], worn)).toMatchObject({ state: 'failed' });
  const steady = { ...dropped, upMs: STEADY_MS };
  expect(live([...flap, due, opened, steady], lost)).toMatchObject({ state: 'waiting', attempt: 1 });
});

verifies('T5', 'does not count the attempt whose session was used before the server lost it', () => {
  const lost = live([wanted, opened, dropped]);
  const [used, unused] = [{ ...dropped, lostSession: 'used' } as const, { ...dropped, lostSession: 'unused' } as const];
  const loseUsed = Array.from({ length: 10 }, () => [due, opened, used]).flat();
  expect(live(loseUsed, lost)).toMatchObject({ state: 'waiting', attempt: 1, of: 3 });
  expect(live([due, opened, dropped, ...loseUsed], lost)).toMatchObject({ state: 'waiting', attempt: 2, of: 3 });
  const loseUnused = Array.from({ length: 3 }, () => [due, opened, unused]).flat();
  expect(live(loseUnused, lost)).toMatchObject({ state: 'failed', attempt: 3, of: 3 });
});

verifies('T5', 'leaves a lost server idle until the next call when maxAttempts is 0', () => {
  const never = { ...rules, maxAttempts: 0 };
  expect(live([wanted, opened, dropped], INITIAL_STATE, never)).toEqual({
    state: 'idle',
    reason: 'It is gone.',
    spent: 0,
  });
});

verifies('T5', 'reconnects a failed server for a call only when the last attempt is older than delayMs', () => {
  const { failed } = STATES;
  expect(reduce(failed, { kind: 'wanted', at: AT + 4999 }, rules)).toEqual({ state: failed, effects: [] });
  expect(reduce(failed, { kind: 'wanted', at: AT + 5000 }, rules).effects).toEqual(['open']);
  const barred = live([EVENTS.barred]);
  const patient = { ...rules, delayMs: 0 };
  expect(reduce(barred, { kind: 'wanted', at: Number.MAX_SAFE_INTEGER }, patient)).toEqual({
    state: barred,
    effects: [],
  });
  expect(live([EVENTS.disconnected], barred)).toBe(barred);
});

verifies('T7', 'is unhealthy after two missed probes, and healthy after one answered probe', () => {
  const missed = EVENTS['probe-missed'];
  const sick = live([missed, missed], STATES.connected);
  expect(sick).toMatchObject({ health: 'unhealthy', reason: 'It did not answer 2 probes in a row.' });
  expect(live([missed], sick)).toMatchObject({ health: 'unhealthy', misses: 3 });
  expect(live([EVENTS['probe-answered']], sick)).toEqual(STATES.connected);
  expect(live([EVENTS.trouble, EVENTS['probe-answered']], STATES.connected)).toEqual(STATES.connected);
});

verifies('T7', 'closes and reconnects after four missed probes', () => {
  const missed = EVENTS['probe-missed'];
  const sick = live([missed, missed, missed], STATES.connected);
  const given = reduce(sick, missed, rules);
  expect(given.state).toMatchObject({ state: 'waiting', attempt: 2, error });
  expect(given.effects).toEqual(['close', 'wait']);
  expect(live([missed], live([EVENTS['probe-answered'], missed], sick))).toMatchObject({ state: 'connected' });
});
