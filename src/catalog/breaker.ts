import type { Clock } from '../core/clock.ts';

/** How a call got past: as any other, or as the one that finds out whether things are better now. */
export type Pass = 'in' | 'probe';

/** How a call ended, as far as it says something of the server: `left` says nothing. */
export type Ended = 'answered' | 'failed' | 'left';

/** Keeps calls away from tools that fail whenever they are called, for each server and tool apart. */
export interface Breakers {
  /** A pass, or for how many milliseconds nobody gets past. Whoever has a pass says how it ended. */
  enter(server: string, tool: string): Pass | number;
  ended(server: string, tool: string, pass: Pass, how: Ended): void;
}

interface Breaker {
  failures: number;
  /** From when on one may try; undefined while all may. */
  triesAt: number | undefined;
  probing: boolean;
}

const FAILURES_TO_OPEN = 5;
const OPEN_MS = 30_000;
// Nobody knows how long the one takes that is trying.
const PROBE_MS = 1000;

export function breakers(clock: Clock): Breakers {
  // Only of what failed last, so that where all is well nothing is looked up.
  const failing = new Map<string, Breaker>();

  function fail(key: string, pass: Pass): void {
    const breaker = failing.get(key) ?? { failures: 0, triesAt: undefined, probing: false };
    failing.set(key, breaker);
    breaker.failures++;
    if (pass === 'probe') breaker.probing = false;
    // What was under way when it opened is no news.
    const isNews = pass === 'probe' || breaker.triesAt === undefined;
    if (isNews && breaker.failures >= FAILURES_TO_OPEN) breaker.triesAt = clock() + OPEN_MS;
  }

  return {
    enter(server, tool) {
      const breaker = failing.size === 0 ? undefined : failing.get(keyOf(server, tool));
      if (breaker?.triesAt === undefined) return 'in';
      const waitMs = breaker.triesAt - clock();
      if (waitMs > 0) return waitMs;
      if (breaker.probing) return PROBE_MS;
      breaker.probing = true;
      return 'probe';
    },
    ended(server, tool, pass, how) {
      if (how === 'failed') return fail(keyOf(server, tool), pass);
      if (failing.size === 0) return;
      const key = keyOf(server, tool);
      const breaker = failing.get(key);
      if (how === 'answered') failing.delete(key);
      else if (breaker && pass === 'probe') breaker.probing = false;
    },
  };
}

const keyOf = (server: string, tool: string) => `${server.length} ${server} ${tool}`;
