import type { Clock } from '../../core/time.ts';

/** The kind of admission: a normal call, or the single probe of a half-open breaker. */
export type BreakerPass = 'in' | 'probe';

/** A failed call, as the breaker counts it. */
export interface Failure {
  readonly pass: BreakerPass;
  /** The value of `losses()` when the call was sent, if its connection was lost; else undefined. */
  readonly lostSince?: number | undefined;
}

/** A circuit breaker for each tool of each server. */
export interface Breakers {
  /** Returns a pass, or for how many milliseconds the tool is refused. Each pass ends in one of the calls below. */
  enter(server: string, tool: string): BreakerPass | number;
  answered(server: string, tool: string): void;
  /** Counts a failure. Calls that one lost connection failed together count once. */
  failed(server: string, tool: string, failure: Failure): void;
  /** Ends a pass whose call says nothing about the server. */
  left(server: string, tool: string, pass: BreakerPass): void;
  /** Returns the number of lost connections counted so far. */
  losses(): number;
}

export interface BreakersOptions {
  readonly clock: Clock;
  /** Returns another value as soon as another server has the name. */
  readonly identityOf: (server: string) => string;
  /** Returns how many connections to the server were opened so far. */
  readonly connectionsTo: (server: string) => number;
}

interface Breaker {
  failures: number;
  /** The time from which a probe is allowed; undefined while the breaker is closed. */
  triesAt: number | undefined;
  probing: boolean;
  /** The value of `connectionsTo` when it opened. */
  connections: number;
  /** The number of the last lost connection counted here. */
  lastLoss: number;
}

const FAILURES_TO_OPEN = 5;
const OPEN_MS = 30_000;
// The wait that is reported while a probe runs; its duration is unknown.
const PROBE_MS = 1000;

export function breakers({ clock, identityOf, connectionsTo }: BreakersOptions): Breakers {
  // Only tools whose last call failed, so that no lookup is needed while all is well.
  const failing = new Map<string, Breaker>();
  let losses = 0;

  function keyOf(server: string, tool: string): string {
    const identity = identityOf(server);
    return `${identity.length} ${identity} ${tool}`;
  }

  const find = (server: string, tool: string) => (failing.size === 0 ? undefined : failing.get(keyOf(server, tool)));

  function add(server: string, tool: string): Breaker {
    const breaker = { failures: 0, triesAt: undefined, probing: false, connections: 0, lastLoss: 0 };
    failing.set(keyOf(server, tool), breaker);
    return breaker;
  }

  /** Makes a breaker half-open when a connection was opened since it opened. */
  function noteConnections(breaker: Breaker, server: string): void {
    const connections = connectionsTo(server);
    if (connections === breaker.connections) return;
    breaker.connections = connections;
    breaker.triesAt = clock();
  }

  return {
    enter(server, tool) {
      const breaker = find(server, tool);
      if (breaker?.triesAt === undefined) return 'in';
      noteConnections(breaker, server);
      const waitMs = breaker.triesAt - clock();
      if (waitMs > 0) return waitMs;
      if (breaker.probing) return PROBE_MS;
      breaker.probing = true;
      return 'probe';
    },
    answered(server, tool) {
      if (failing.size > 0) failing.delete(keyOf(server, tool));
    },
    failed(server, tool, { pass, lostSince }) {
      const breaker = find(server, tool) ?? add(server, tool);
      if (pass === 'probe') breaker.probing = false;
      // A call sent before the last counted loss was lost together with it.
      else if (lostSince !== undefined && lostSince < breaker.lastLoss) return;
      if (lostSince !== undefined) breaker.lastLoss = ++losses;
      breaker.failures++;
      // Calls that were in flight when it opened do not extend the refusal.
      const mayOpen = pass === 'probe' || breaker.triesAt === undefined;
      if (!mayOpen || breaker.failures < FAILURES_TO_OPEN) return;
      breaker.triesAt = clock() + OPEN_MS;
      breaker.connections = connectionsTo(server);
    },
    left(server, tool, pass) {
      const breaker = pass === 'probe' ? find(server, tool) : undefined;
      if (breaker) breaker.probing = false;
    },
    losses: () => losses,
  };
}
