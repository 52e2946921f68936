import type { ServerConfig } from '../config/config.ts';
import type { Settings } from '../config/schema.ts';
import type { RateLimit, ResolvedCall, Stage } from '../core/call.ts';
import type { Clock } from '../core/clock.ts';
import { HeddleError } from '../core/errors.ts';

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

/**
 * Refuses a call when its tool, its server or its caller has spent the calls of the current window. A call that goes on
 * after a question was counted when it began.
 */
export function rateLimit(limits: () => RateLimits, clock: Clock = Date.now): Stage<ResolvedCall> {
  const windows = new Map<string, Window>();

  function windowOf(key: string, { windowMs }: RateLimit, now: number): Window {
    const known = windows.get(key);
    const window = known && now - known.opensAt < windowMs ? known : { opensAt: now, calls: 0 };
    windows.delete(key); // Re-inserting keeps the map in order of last use.
    windows.set(key, window);
    if (windows.size > MAX_WINDOWS) windows.delete(windows.keys().next().value as string);
    return window;
  }

  function admit(applying: readonly Applying[]): HeddleError | undefined {
    const now = clock();
    const spent: Window[] = [];
    for (const { key, who, limit } of applying) {
      const window = windowOf(key, limit, now);
      if (window.calls >= limit.maxCalls) return limited(who, window.opensAt + limit.windowMs - now);
      spent.push(window);
    }
    // Only now: a call that is refused must not use up what others share.
    for (const window of spent) window.calls++;
    return undefined;
  }

  return function rateLimit(call, next) {
    const applying = call.from ? [] : limitsOf(call, limits());
    const refused = applying.length > 0 ? admit(applying) : undefined;
    return refused ? Promise.reject(refused) : next(call);
  };
}

interface Applying {
  readonly key: string;
  readonly who: string;
  readonly limit: RateLimit;
}

function limitsOf({ target, caller }: ResolvedCall, { servers, perCaller }: RateLimits): readonly Applying[] {
  const { publicName, facts } = target;
  const [server] = target.servers;
  const perServer = servers.get(server);
  const applying: Applying[] = [];
  if (facts.rateLimit) applying.push({ key: `tool ${publicName}`, who: publicName, limit: facts.rateLimit });
  if (perServer) applying.push({ key: `server ${server}`, who: `The server ${server}`, limit: perServer });
  if (perCaller) applying.push({ key: `caller ${caller.id}`, who: `The caller ${caller.id}`, limit: perCaller });
  return applying;
}

const limited = (who: string, retryAfterMs: number) =>
  new HeddleError('RATE_LIMITED', `${who} has used up its calls for now.`, {
    fix: `Wait ${retryAfterMs} ms and call again.`,
    details: { retryAfterMs },
  });
