import { randomUUID } from 'node:crypto';
import { BoundedSet } from '../../core/bounded-map.ts';
import { serverOf } from '../../core/call/continuation.ts';
import { nameFor } from '../../core/call/name-for.ts';
import type { InputResponses, ResolvedCall } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { canonicalJson } from '../../core/json.ts';
import type { LegacyCall } from './pending-call.ts';

/** The calls that wait for input responses, each an open request to a legacy server. Only this process has them. */
export interface SuspendedCalls {
  /** Returns a ticket that resumes the call once. Throws, and cancels the call, when there are too many. */
  suspend(legacyCall: LegacyCall, call: ResolvedCall): string;
  /**
   * Returns the call of a ticket, and the input responses that belong to it. Invalid responses leave it suspended. An
   * unknown ticket throws INPUT_INVALID: `distrust` in its details is `replayed` or `expired`.
   */
  take(call: ResolvedCall): { readonly legacyCall: LegacyCall; readonly inputResponses: InputResponses };
  close(): void;
}

export interface SuspendedCallsOptions {
  /** Time that the user has for a response; 300 s unless given. */
  readonly ttlMs?: number;
  readonly max?: number;
  readonly maxPerPrincipal?: number;
}

interface SuspendedCall {
  readonly legacyCall: LegacyCall;
  readonly call: ResolvedCall;
  timer: NodeJS.Timeout;
}

const TTL_MS = 300_000;
const EXPIRED_KEPT_MS = 5000;
const MAX = 1000;
const MAX_PER_PRINCIPAL = 16;
const MAX_USED_TICKETS = 10_000;

export function suspendedCalls(options: SuspendedCallsOptions = {}): SuspendedCalls {
  const { ttlMs = TTL_MS, max = MAX, maxPerPrincipal = MAX_PER_PRINCIPAL } = options;
  const suspended = new Map<string, SuspendedCall>();
  const used = new BoundedSet<string>(MAX_USED_TICKETS);

  function remove(ticket: string): void {
    clearTimeout(suspended.get(ticket)?.timer);
    suspended.delete(ticket);
  }

  function use(ticket: string): void {
    remove(ticket);
    used.add(ticket);
  }

  // Keeps an expired entry for 5 s, so that a late resume gets the timeout error instead of "unknown ticket".
  function expire(ticket: string): void {
    const entry = suspended.get(ticket);
    if (!entry) return;
    entry.timer = setTimeout(() => remove(ticket), EXPIRED_KEPT_MS).unref();
    entry.legacyCall.cancel(unanswered(entry.legacyCall.server, ttlMs));
  }

  // An ended call does not count against its principal, and is removed when all places are taken.
  function hasRoom(principal: string): boolean {
    if (suspended.size >= max) {
      const [ended] = [...suspended].find(([, { legacyCall }]) => legacyCall.isOver) ?? [];
      if (ended === undefined) return false;
      remove(ended);
    }
    let own = 0;
    for (const { call, legacyCall } of suspended.values()) {
      if (call.caller.id === principal && !legacyCall.isOver) own++;
    }
    return own < maxPerPrincipal;
  }

  return {
    suspend(legacyCall, call) {
      if (!hasRoom(call.caller.id)) {
        const error = tooMany(legacyCall.server);
        legacyCall.cancel(error);
        throw error;
      }
      const ticket = randomUUID();
      const timer = setTimeout(() => expire(ticket), ttlMs).unref();
      suspended.set(ticket, { legacyCall, call, timer });
      return ticket;
    },
    take(call) {
      const ticket = call.continuation?.kind === 'suspended' ? call.continuation.ticket : '';
      const entry = suspended.get(ticket);
      if (!entry || !isSameCall(entry, call)) throw unknownTicket(call, used.has(ticket) ? 'replayed' : 'expired');
      const inputResponses = entry.legacyCall.check(call.inputResponses ?? {});
      use(ticket);
      return { legacyCall: entry.legacyCall, inputResponses };
    },
    close() {
      for (const { legacyCall, timer } of suspended.values()) {
        clearTimeout(timer);
        legacyCall.cancel(new HeddleError('CALL_CANCELLED', 'Heddle is closing.'));
      }
    },
  };
}

/** Tests whether a ticket belongs to this call: the same caller, server, kind, name and input. */
function isSameCall({ legacyCall, call: first }: SuspendedCall, call: ResolvedCall): boolean {
  return (
    first.caller.id === call.caller.id &&
    legacyCall.server === serverOf(call.continuation) &&
    first.kind === call.kind &&
    first.target.name === call.target.name &&
    canonicalJson(first.input) === canonicalJson(call.input)
  );
}

const unknownTicket = (call: ResolvedCall, distrust: 'replayed' | 'expired') =>
  new HeddleError(
    'INPUT_INVALID',
    `${nameFor(call)} does not wait for these input responses: they came twice, or too late.`,
    { fix: 'Check whether the call has had effects, then call again.', details: { distrust } },
  );
const unanswered = (server: string, ttlMs: number) =>
  new UpstreamError(
    'UPSTREAM_TIMEOUT',
    `The user did not answer ${server} within ${ttlMs} ms: the call was cancelled.`,
    {
      delivered: 'maybe',
    },
  );
const tooMany = (server: string) =>
  new UpstreamError(
    'UPSTREAM_FAILED',
    `Too many calls wait for input responses: the call to ${server} was cancelled.`,
    {
      delivered: 'maybe',
      fix: 'Answer or cancel a call that waits, then call again.',
    },
  );
