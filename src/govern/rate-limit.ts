import type { ServerConfig } from '../config/config.ts';
import type { Settings } from '../config/schema/schema.ts';
import { BoundedMap } from '../core/bounded-map.ts';
import { nameAt } from '../core/call/equivalent.ts';
import { nameFor } from '../core/call/name-for.ts';
import type { RateLimit, ResolvedCall, Stage } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { type Clock, monotonicClock, steadyClock } from '../core/time.ts';
import { countCall, dropOld, emptyWindow, type SlidingWindow, waitFor } from './limits/sliding-window.ts';

/** The configured rate limits of servers and callers. */
export interface RateLimits {
  readonly servers: ReadonlyMap<string, RateLimit>;
  readonly perCaller: RateLimit | undefined;
}

/** Collects the rate limits of a configuration. */
export function rateLimitsOf(
  { limits }: Settings,
  configs: ReadonlyMap<string, Pick<ServerConfig, 'entry'>>,
): RateLimits {
  const servers = [...configs].flatMap(([name, { entry }]) => (entry?.limits ? [[name, entry.limits] as const] : []));
  return { servers: new Map(servers), perCaller: limits.perCaller };
}

// Bounds memory: past this, the windows that were idle longest are dropped.
const MAX_WINDOWS = 10_000;

/** Counts calls in sliding windows and refuses those over a limit. */
export interface Rates {
  /** Counts a call, or returns the error that refuses it. For a pool, the limits of its servers are only checked. */
  admit(call: ResolvedCall): HeddleError | undefined;
  /** Counts a call to one server of a pool, once routing has chosen it. */
  admitTo(server: string, call: ResolvedCall): HeddleError | undefined;
}

/** Makes the counters. Their time never runs back, whatever the clock does. */
export function rates(limits: () => RateLimits, clock: Clock = steadyClock): Rates {
  const windows = new BoundedMap<string, SlidingWindow>(MAX_WINDOWS);
  const time = monotonicClock(clock);

  function windowOf(key: string, limit: RateLimit, now: number): SlidingWindow {
    const window = windows.get(key) ?? emptyWindow();
    dropOld(window, limit, now);
    windows.set(key, window); // The least recently used is evicted first.
    return window;
  }

  function refusal({ key, subject, limit }: AppliedLimit, now: number): HeddleError | undefined {
    const waitMs = waitFor(windowOf(key, limit, now), limit, now);
    return waitMs > 0 ? limited(subject, Math.ceil(waitMs)) : undefined;
  }

  function spend(applied: readonly AppliedLimit[]): HeddleError | undefined {
    if (applied.length === 0) return undefined;
    const now = time();
    for (const one of applied) {
      const refused = refusal(one, now);
      if (refused) return refused;
    }
    // Counted after all checks: a refused call must not use up a shared limit.
    for (const { key, limit } of applied) countCall(windowOf(key, limit, now), limit, now);
    return undefined;
  }

  /** Returns the refusal with the shortest wait if every server of a pool is over its limit. Counts nothing. */
  function spentByAll(call: ResolvedCall): HeddleError | undefined {
    const now = time();
    let soonest: HeddleError | undefined;
    for (const server of call.target.servers) {
      const refusals = limitsAt(server, call, limits()).flatMap((one) => refusal(one, now) ?? []);
      const refused = refusals.sort((a, b) => waitOf(b) - waitOf(a))[0];
      if (!refused) return undefined;
      if (!soonest || waitOf(refused) < waitOf(soonest)) soonest = refused;
    }
    return soonest;
  }

  return {
    admit(call) {
      if (!isLimited(call, limits())) return undefined;
      const refused = call.target.servers.length === 1 ? undefined : spentByAll(call);
      return refused ?? spend(limitsOf(call, limits()));
    },
    admitTo: (server, call) => spend(limitsAt(server, call, limits())),
  };
}

/**
 * Refuses a call if its tool, server or caller is over a rate limit. A continuation was counted when the call began; a
 * `requestState` that is used again counts as another call.
 */
export function rateLimit(rates: Rates): Stage<ResolvedCall> {
  function admit(call: ResolvedCall): HeddleError | undefined {
    const { continuation, target } = call;
    if (!continuation) return rates.admit(call);
    if (continuation.kind !== 'upstream' || !continuation.again) return undefined;
    return rates.admit(call) ?? (target.servers.length > 1 ? rates.admitTo(continuation.server, call) : undefined);
  }
  return function rateLimit(call, next) {
    const refused = admit(call);
    return refused ? Promise.reject(refused) : next(call);
  };
}

/** Returns false if no limit can apply, so that most calls skip the counting. */
const isLimited = ({ target }: ResolvedCall, { servers, perCaller }: RateLimits): boolean =>
  perCaller !== undefined ||
  servers.size > 0 ||
  target.facts.rateLimit !== undefined ||
  target.rateLimits !== undefined;

interface AppliedLimit {
  readonly key: string;
  /** The limited tool, server or caller, as the error message names it. */
  readonly subject: string;
  readonly limit: RateLimit;
}

/** Returns the limits of one server and of the tool there, whether called directly or through a pool. */
function limitsAt(server: string, call: ResolvedCall, { servers }: RateLimits): readonly AppliedLimit[] {
  const { target } = call;
  const applied: AppliedLimit[] = [];
  const ofTool = target.servers.length === 1 ? target.facts.rateLimit : target.rateLimits?.get(server);
  const ofServer = servers.get(server);
  if (ofTool) {
    const name = nameAt(target, server);
    const subject = target.servers.length === 1 ? nameFor(call) : `${server}.${name}`;
    applied.push({ key: JSON.stringify([target.kind, server, name]), subject, limit: ofTool });
  }
  if (ofServer) applied.push({ key: `server ${server}`, subject: `The server ${server}`, limit: ofServer });
  return applied;
}

function limitsOf(call: ResolvedCall, limits: RateLimits): readonly AppliedLimit[] {
  const { target, caller } = call;
  const { servers, group, publicName, name, facts } = target;
  const { perCaller } = limits;
  const applied: AppliedLimit[] = [];
  if (servers.length === 1) applied.push(...limitsAt(servers[0], call, limits));
  else if (facts.rateLimit) {
    const key = `pool ${JSON.stringify([group ?? publicName, name])}`;
    applied.push({ key, subject: nameFor(call), limit: facts.rateLimit });
  }
  if (perCaller) applied.push({ key: `caller ${caller.id}`, subject: `The caller ${caller.id}`, limit: perCaller });
  return applied;
}

const waitOf = ({ details }: HeddleError) => Number(details.retryAfterMs);

const limited = (subject: string, retryAfterMs: number) =>
  new HeddleError('RATE_LIMITED', `${subject} has used up its calls for now.`, {
    fix: `Wait ${retryAfterMs} ms and call again.`,
    details: { retryAfterMs },
  });
