import type { ServerConfig } from '../config/config.ts';
import type { Settings } from '../config/schema/schema.ts';
import { BoundedMap } from '../core/bounded-map.ts';
import { callerName } from '../core/call/caller.ts';
import { nameAt } from '../core/call/equivalent.ts';
import type { RateLimit } from '../core/call/facts.ts';
import { nameFor } from '../core/call/name-for.ts';
import type { Caller, ResolvedCall, Result, Stage } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { type Clock, monotonicClock, steadyClock } from '../core/time.ts';
import {
  countCall,
  dropOld,
  emptyWindow,
  type SlidingWindow,
  type Slot,
  uncountCall,
  waitFor,
} from './limits/sliding-window.ts';

/** The configured rate limits of servers and callers. */
export interface RateLimits {
  readonly servers: ReadonlyMap<string, RateLimit>;
  readonly perCaller: RateLimit | undefined;
  /** By caller or agent: its own limit. */
  readonly callers?: ReadonlyMap<string, RateLimit>;
}

const NO_LIMITS: ReadonlyMap<string, RateLimit> = new Map();

/** Collects the rate limits of a configuration. */
export function rateLimitsOf(
  { limits }: Settings,
  configs: ReadonlyMap<string, Pick<ServerConfig, 'entry'>>,
): RateLimits {
  const servers = [...configs].flatMap(([name, { entry }]) => (entry?.limits ? [[name, entry.limits] as const] : []));
  return { servers: new Map(servers), perCaller: limits.perCaller, callers: new Map(Object.entries(limits.callers)) };
}

// Bounds memory: past this, the windows that were idle longest are dropped.
const MAX_WINDOWS = 10_000;
// Each poll of a pending approval runs hooks and reads the store.
const POLLS: RateLimit = { maxCalls: 60, windowMs: 60_000 };

/** Counts calls in sliding windows and refuses those over a limit. */
export interface Rates {
  /** Counts a call, or returns the error that refuses it. For a pool, the limits of its servers are only checked. */
  admit(call: ResolvedCall): HeddleError | undefined;
  /** Counts a poll of a pending approval by one call, or returns the error that refuses it. */
  admitPoll(approval: string, callId: string): HeddleError | undefined;
  /** Returns true if `admit` counted a call. */
  hasCounted(call: ResolvedCall): boolean;
  /** Takes back the count of a call that only waits for an approval. After 60 such calls in a minute, they count. */
  giveBack(call: ResolvedCall, approval: string): void;
  /** Counts a call to one server of a pool, once routing has chosen it. */
  admitTo(server: string, call: ResolvedCall): HeddleError | undefined;
}

/** Makes the counters. Their time never runs back, whatever the clock does. */
export function rates(limits: () => RateLimits, clock: Clock = steadyClock): Rates {
  const windows = new BoundedMap<string, SlidingWindow>(MAX_WINDOWS);
  // Kept apart: many waiting calls must not evict the window of a configured limit.
  const polls = new BoundedMap<string, SlidingWindow>(MAX_WINDOWS);
  const time = monotonicClock(clock);
  const counted = new WeakMap<ResolvedCall, readonly Counted[]>();

  function windowOf(key: string, limit: RateLimit, now: number): SlidingWindow {
    const kept = limit === POLLS ? polls : windows;
    const window = kept.get(key) ?? emptyWindow();
    dropOld(window, limit, now);
    kept.set(key, window); // The least recently used is evicted first.
    return window;
  }

  function refusal(applied: AppliedLimit, now: number): HeddleError | undefined {
    const { key, limit } = applied;
    const waitMs = waitFor(windowOf(key, limit, now), limit, now);
    return waitMs > 0 ? limited(applied, Math.ceil(waitMs)) : undefined;
  }

  function spend(applied: readonly AppliedLimit[], call?: ResolvedCall): HeddleError | undefined {
    if (applied.length === 0) return undefined;
    const now = time();
    for (const one of applied) {
      const refused = refusal(one, now);
      if (refused) return refused;
    }
    // Counted after all checks: a refused call must not use up a shared limit.
    const slots = applied.map(({ key, limit }): Counted => {
      const window = windowOf(key, limit, now);
      return { window, slot: countCall(window, limit, now) };
    });
    if (call) counted.set(call, slots);
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
      return refused ?? spend(limitsOf(call, limits()), call);
    },
    admitPoll: (id, callId) => spend([pollsOf(id, `${id} ${callId}`)]),
    hasCounted: (call) => counted.has(call),
    giveBack(call, approval) {
      if (call.continuation === undefined && spend([pollsOf(approval, approval)])) return;
      for (const { window, slot } of counted.get(call) ?? []) uncountCall(window, slot);
      counted.delete(call);
    },
    admitTo: (server, call) => spend(limitsAt(server, call, limits())),
  };
}

/** A counted call in one window. */
interface Counted {
  readonly window: SlidingWindow;
  readonly slot: Slot;
}

const pollsOf = (approval: string, key: string): AppliedLimit => ({
  key,
  subject: `The approval ${approval}`,
  limit: POLLS,
  setting: '',
});

/** Returns the approval of a call that an approver has to decide on: it did not run. */
const pendingIn = (result: Result): string | undefined =>
  result.kind === 'waiting' || result.kind === 'input-required' ? result.approval?.id : undefined;

/**
 * Refuses a call if its tool, server or caller is over a rate limit. A call that waits for an approval counts when it
 * runs. Another continuation was counted when the call began; a `requestState` that is used again counts as another call.
 */
export function rateLimit(rates: Rates): Stage<ResolvedCall> {
  function admit(call: ResolvedCall): HeddleError | undefined {
    const { continuation, target } = call;
    if (!continuation) return rates.admit(call);
    if (continuation.kind === 'approval') return rates.admitPoll(continuation.id, call.id) ?? rates.admit(call);
    if (continuation.kind !== 'upstream' || !continuation.again) return undefined;
    return rates.admit(call) ?? (target.servers.length > 1 ? rates.admitTo(continuation.server, call) : undefined);
  }
  const givingBack = (call: ResolvedCall) => (result: Result) => {
    const approval = pendingIn(result);
    if (approval !== undefined) rates.giveBack(call, approval);
    return result;
  };
  return function rateLimit(call, next) {
    const refused = admit(call);
    if (refused) return Promise.reject(refused);
    const result = next(call);
    return rates.hasCounted(call) ? result.then(givingBack(call)) : result;
  };
}

/** Returns false if no limit can apply, so that most calls skip the counting. */
const isLimited = ({ target }: ResolvedCall, { servers, perCaller, callers = NO_LIMITS }: RateLimits): boolean =>
  perCaller !== undefined ||
  callers.size > 0 ||
  servers.size > 0 ||
  target.facts.rateLimit !== undefined ||
  target.rateLimits !== undefined;

interface AppliedLimit {
  readonly key: string;
  /** The limited tool, server or caller, as the error message names it. */
  readonly subject: string;
  readonly limit: RateLimit;
  /** The setting of the limit, for the error; empty if there is none. */
  readonly setting: string;
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
    applied.push({ key: JSON.stringify([target.kind, server, name]), subject, limit: ofTool, setting: 'rateLimit' });
  }
  const setting = `mcpServers.${server}.limits`;
  if (ofServer) applied.push({ key: `server ${server}`, subject: `The server ${server}`, limit: ofServer, setting });
  return applied;
}

function limitsOf(call: ResolvedCall, limits: RateLimits): readonly AppliedLimit[] {
  const { target, caller } = call;
  const { servers, group, publicName, name, facts } = target;
  const applied: AppliedLimit[] = [];
  if (servers.length === 1) applied.push(...limitsAt(servers[0], call, limits));
  else if (facts.rateLimit) {
    const key = `pool ${JSON.stringify([group ?? publicName, name])}`;
    applied.push({ key, subject: nameFor(call), limit: facts.rateLimit, setting: 'rateLimit' });
  }
  return [...applied, ...limitsOfCaller(caller, limits)];
}

/** Returns the limit of each caller and those of this one. A call of an agent counts for the program, too. */
function limitsOfCaller(caller: Caller, { perCaller, callers = NO_LIMITS }: RateLimits): readonly AppliedLimit[] {
  const { id } = caller;
  const own = [...new Set([id, callerName(caller)])].flatMap((name) => {
    const limit = callers.get(name);
    const subject = `The caller ${name}`;
    return limit ? [{ key: `own ${name}`, subject, limit, setting: `limits.callers.${name}` }] : [];
  });
  if (!perCaller) return own;
  return [{ key: `caller ${id}`, subject: `The caller ${id}`, limit: perCaller, setting: 'limits.perCaller' }, ...own];
}

const from = (setting: string) => (setting === '' ? '' : ` (\`${setting}\`)`);

const waitOf = ({ details }: HeddleError) => Number(details.retryAfterMs);

const limited = ({ subject, limit: { maxCalls, windowMs }, setting }: AppliedLimit, retryAfterMs: number) =>
  new HeddleError('RATE_LIMITED', `${subject} has used up its ${maxCalls} calls per ${windowMs} ms${from(setting)}.`, {
    fix: `Wait ${retryAfterMs} ms and call again.`,
    details: { retryAfterMs },
  });
