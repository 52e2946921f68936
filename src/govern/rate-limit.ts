import type { ServerConfig } from '../config/config.ts';
import type { Settings } from '../config/schema/schema.ts';
import { BoundedMap } from '../core/bounded-map.ts';
import { nameAt } from '../core/call/equivalent.ts';
import { nameFor } from '../core/call/name-for.ts';
import type { RateLimit, ResolvedCall, Stage } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { type Clock, steadyClock } from '../core/time.ts';

/** How often servers and callers may call. */
export interface RateLimits {
  readonly servers: ReadonlyMap<string, RateLimit>;
  readonly perCaller: RateLimit | undefined;
}

/** The limits that a configuration sets. */
export function rateLimitsOf(
  { limits }: Settings,
  configs: ReadonlyMap<string, Pick<ServerConfig, 'entry'>>,
): RateLimits {
  const servers = [...configs].flatMap(([name, { entry }]) => (entry?.limits ? [[name, entry.limits] as const] : []));
  return { servers: new Map(servers), perCaller: limits.perCaller };
}

interface Window {
  opensAt: number;
  calls: number;
}

// Bounds memory: past this, the windows idle the longest are forgotten.
const MAX_WINDOWS = 10_000;

/** Counts calls in windows, and says who has used up theirs. */
export interface Rates {
  /** Counts a call, or says why there may be none. Of several servers nobody knows yet which it will be. */
  admit(call: ResolvedCall): HeddleError | undefined;
  /** The same for one of several servers, once it is known. */
  admitTo(server: string, call: ResolvedCall): HeddleError | undefined;
}

export function rates(limits: () => RateLimits, clock: Clock = steadyClock): Rates {
  const windows = new BoundedMap<string, Window>(MAX_WINDOWS);

  function windowOf(key: string, { windowMs }: RateLimit, now: number): Window {
    const known = windows.get(key);
    const window = known && now - known.opensAt < windowMs ? known : { opensAt: now, calls: 0 };
    windows.set(key, window); // The least recently used is evicted first.
    return window;
  }

  function refusal({ key, who, limit }: Applying, now: number): HeddleError | undefined {
    const window = windowOf(key, limit, now);
    return window.calls >= limit.maxCalls ? limited(who, window.opensAt + limit.windowMs - now) : undefined;
  }

  function spend(applying: readonly Applying[]): HeddleError | undefined {
    if (applying.length === 0) return undefined;
    const now = clock();
    for (const one of applying) {
      const refused = refusal(one, now);
      if (refused) return refused;
    }
    // Only now: a call that is refused must not use up what others share.
    for (const { key, limit } of applying) windowOf(key, limit, now).calls++;
    return undefined;
  }

  /** Of several servers one with calls left is enough. When there is none, nothing else is spent. */
  function spentByAll(call: ResolvedCall): HeddleError | undefined {
    const now = clock();
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
 * Refuses a call when its tool, its server or its caller has spent the calls of the current window. A call that goes on
 * after a question was counted when it began; one that goes on from there again is another.
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

/** Whether any limit may hold: mostly there is none, and nothing to count. */
const isLimited = ({ target }: ResolvedCall, { servers, perCaller }: RateLimits): boolean =>
  perCaller !== undefined ||
  servers.size > 0 ||
  target.facts.rateLimit !== undefined ||
  target.rateLimits !== undefined;

interface Applying {
  readonly key: string;
  readonly who: string;
  readonly limit: RateLimit;
}

/** What holds at one server, for the server and for the tool there, however the caller came to it. */
function limitsAt(server: string, call: ResolvedCall, { servers }: RateLimits): readonly Applying[] {
  const { target } = call;
  const applying: Applying[] = [];
  const ofTool = target.servers.length === 1 ? target.facts.rateLimit : target.rateLimits?.get(server);
  const ofServer = servers.get(server);
  if (ofTool) {
    const name = nameAt(target, server);
    const who = target.servers.length === 1 ? nameFor(call) : `${server}.${name}`;
    applying.push({ key: JSON.stringify([target.kind, server, name]), who, limit: ofTool });
  }
  if (ofServer) applying.push({ key: `server ${server}`, who: `The server ${server}`, limit: ofServer });
  return applying;
}

function limitsOf(call: ResolvedCall, limits: RateLimits): readonly Applying[] {
  const { target, caller } = call;
  const { servers, group, publicName, name, facts } = target;
  const { perCaller } = limits;
  const applying: Applying[] = [];
  if (servers.length === 1) applying.push(...limitsAt(servers[0], call, limits));
  else if (facts.rateLimit) {
    const key = `pool ${JSON.stringify([group ?? publicName, name])}`;
    applying.push({ key, who: nameFor(call), limit: facts.rateLimit });
  }
  if (perCaller) applying.push({ key: `caller ${caller.id}`, who: `The caller ${caller.id}`, limit: perCaller });
  return applying;
}

const waitOf = ({ details }: HeddleError) => Number(details.retryAfterMs);

const limited = (who: string, retryAfterMs: number) =>
  new HeddleError('RATE_LIMITED', `${who} has used up its calls for now.`, {
    fix: `Wait ${retryAfterMs} ms and call again.`,
    details: { retryAfterMs },
  });
