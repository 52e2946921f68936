import type { RateLimit, ResolvedCall, Stage } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import { HeddleError } from '../core/errors.ts';

export interface RateLimitOptions {
  /** By server: how often it may be called. */
  readonly servers: ReadonlyMap<string, RateLimit>;
  readonly perCaller: RateLimit | undefined;
  readonly clock?: Clock;
}

interface Window {
  opensAt: number;
  calls: number;
}

// Bounds memory: past this, the windows idle the longest are forgotten.
const MAX_WINDOWS = 10_000;

/** Refuses a call when its tool, its server or its caller has spent the calls of the current window. */
export function rateLimit({ servers, perCaller, clock = Date.now }: RateLimitOptions): Stage<ResolvedCall> {
  const windows = new Map<string, Window>();

  function windowOf(key: string, { windowMs }: RateLimit, now: number): Window {
    const known = windows.get(key);
    const window = known && now - known.opensAt < windowMs ? known : { opensAt: now, calls: 0 };
    windows.delete(key); // Re-inserting keeps the map in order of last use.
    windows.set(key, window);
    if (windows.size > MAX_WINDOWS) windows.delete(windows.keys().next().value as string);
    return window;
  }

  return function rateLimit(call, next) {
    const { target, caller } = call;
    const limits: (readonly [string, string, RateLimit | undefined])[] = [
      [`tool ${target.publicName}`, target.publicName, target.facts.rateLimit],
      [`server ${target.servers[0]}`, `The server ${target.servers[0]}`, servers.get(target.servers[0])],
      [`caller ${caller.id}`, `The caller ${caller.id}`, perCaller],
    ];
    const now = clock();
    const spent: Window[] = [];
    for (const [key, who, limit] of limits) {
      if (!limit) continue;
      const window = windowOf(key, limit, now);
      if (window.calls >= limit.maxCalls) return Promise.reject(limited(who, window.opensAt + limit.windowMs - now));
      spent.push(window);
    }
    // Only now: a call that is refused must not use up what others share.
    for (const window of spent) window.calls++;
    return next(call);
  };
}

const limited = (who: string, retryAfterMs: number) =>
  new HeddleError('RATE_LIMITED', `${who} has used up its calls for now.`, {
    fix: `Wait ${retryAfterMs} ms and call again.`,
    details: { retryAfterMs },
  });
