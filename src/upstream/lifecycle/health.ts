import { HeddleError } from '../../core/errors.ts';
import type { Time } from '../../core/time.ts';
import type { Connection } from '../connection.ts';
import { hung } from './lost-server.ts';
import type { ServerState, StateEvent } from './server-state.ts';

/** How often servers are looked after. */
export const PROBE_EVERY_MS = 30_000;
const PROBE_MS = 5000;

export interface HealthOptions {
  readonly time: Time;
  readonly connection: () => Connection | undefined;
  /** How long that line has been open. */
  readonly upMs: () => number;
  readonly state: () => ServerState;
  /** Told what came of a probe. */
  readonly on: (event: StateEvent) => void;
}

/** Watches over one server. */
export interface Health {
  /** The server has said something, so it is there. */
  heard(): void;
  /** Asks an idle server whether it is still there; one that is busy or has just spoken is left alone. */
  check(): Promise<void>;
}

export function watchHealth({ time, connection, upMs, state, on }: HealthOptions): Health {
  let lastHeard = Number.NEGATIVE_INFINITY;
  let probing = false;

  // Only an answer to a probe makes a doubtful one sound again.
  const isSilent = () => time.clock() - lastHeard >= PROBE_EVERY_MS || !isSound(state());

  return {
    heard() {
      lastHeard = time.clock();
    },
    async check() {
      const line = connection();
      if (!line || probing || line.inFlight() > 0 || !isSilent()) return;
      probing = true;
      const event = await probe(line, time, upMs);
      probing = false;
      if (connection() === line) on(event); // Otherwise it was lost meanwhile, which says more.
    },
  };
}

const isSound = (state: ServerState) => state.state === 'connected' && state.health === 'ok' && state.misses === 0;

/** Any answer will do, a refusal too: only silence is a miss. */
async function probe(connection: Connection, { timer, clock }: Time, upMs: () => number): Promise<StateEvent> {
  const giveUp = new AbortController();
  const cancel = timer(PROBE_MS, () => giveUp.abort());
  try {
    await connection.probe(giveUp.signal);
    return { kind: 'probe-answered' };
  } catch (thrown) {
    const error = HeddleError.from(thrown);
    if (error.code === 'AUTH_NEEDED') return { kind: 'auth-needed', error, at: clock() };
    if (error.code === 'UPSTREAM_REFUSED') return { kind: 'probe-answered' };
    return { kind: 'probe-missed', error: hung(connection.server), upMs: upMs(), at: clock() };
  } finally {
    cancel();
  }
}
