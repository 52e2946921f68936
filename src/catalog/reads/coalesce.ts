import { abortable } from '../../core/async/abortable.ts';
import { BoundedSet } from '../../core/bounded-map.ts';
import { hasAnyCapability } from '../../core/call/client-capabilities.ts';
import type { Handler, ResolvedCall, Result, Stage } from '../../core/call.ts';
import { isPublic, readKey } from './read-key.ts';

/** One read under way, and those who wait for it. */
interface Flight {
  readonly server: string;
  readonly principal: string;
  readonly result: Promise<Result>;
  readonly abort: AbortController;
  waiting: number;
  /** Nobody joins it any more. */
  readonly land: () => void;
}

export interface Coalesced {
  /** Makes one of reads of the same by the same at the same time; everything else passes. */
  readonly stage: Stage<ResolvedCall>;
  /** Who reads from now on reads anew: a resource of the server may be other than before. */
  split(server: string): void;
}

const MAX_KNOWN = 1000;

/** Reads of different principals are one only where the server said before that what they read is public. */
export function coalesce(): Coalesced {
  const flights = new Map<string, Flight>();
  const known = new BoundedSet<string>(MAX_KNOWN); // What was public when it was last read.

  function learn(call: ResolvedCall, result: Result): void {
    const key = readKey(call, 'public');
    if (isPublic(result)) known.add(key);
    else known.delete(key);
  }

  function take(key: string, call: ResolvedCall, next: Handler<ResolvedCall>): Flight {
    const abort = new AbortController();
    const result = next({ ...call, signal: abort.signal });
    const land = () => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    const flight: Flight = {
      server: call.target.servers[0],
      principal: call.caller.id,
      result,
      abort,
      waiting: 0,
      land,
    };
    flights.set(key, flight);
    result
      .then(
        (landed) => learn(call, landed),
        () => {},
      )
      .finally(land);
    return flight;
  }

  async function read(call: ResolvedCall, next: Handler<ResolvedCall>): Promise<Result> {
    const everybodys = readKey(call, 'public');
    const key = `${call.options.timeoutMs} ${known.has(everybodys) ? everybodys : readKey(call, 'private')}`;
    const flight = flights.get(key) ?? take(key, call, next);
    const result = await wait(flight, call.signal);
    const isOurs = flight.principal === call.caller.id || isPublic(result);
    return isOurs ? result : next(call); // It is public no longer.
  }

  function split(server: string): void {
    for (const [key, flight] of flights) if (flight.server === server) flights.delete(key);
  }

  function splitAll(servers: readonly string[]): void {
    if (flights.size > 0) for (const server of servers) split(server);
  }

  return {
    split,
    stage(call, next) {
      if (isJoinable(call)) return read(call, next);
      const { servers, facts } = call.target;
      if (facts.readOnly) return next(call);
      // Whoever reads after a write must see it, so it does not join a read that began before the write was over.
      const splitThem = () => splitAll(servers);
      splitThem();
      const answer = next(call);
      answer.then(splitThem, splitThem);
      return answer;
    },
  };
}

/** Only when nobody waits any more is the server told so. */
async function wait(flight: Flight, signal: AbortSignal): Promise<Result> {
  flight.waiting++;
  try {
    return await abortable(flight.result, signal);
  } finally {
    flight.waiting--;
    if (flight.waiting === 0) {
      flight.land();
      flight.abort.abort();
    }
  }
}

/** Whoever can be asked, or wants to hear of progress or of the server's log, has a read of its own. */
const isJoinable = ({ kind, continuation, inputResponses, capabilities, onProgress, log, signal }: ResolvedCall) =>
  kind === 'resource' &&
  !continuation &&
  !inputResponses &&
  !onProgress &&
  !log &&
  !(capabilities && hasAnyCapability(capabilities)) &&
  !signal.aborted;
