import { randomUUID } from 'node:crypto';
import { BoundedSet } from '../../core/bounded-map.ts';
import { nameFor } from '../../core/call/name-for.ts';
import type { InputResponses, ResolvedCall } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { canonicalJson } from '../../core/json.ts';
import type { LegacyCall } from './legacy-call.ts';

/** Where calls wait whose server has asked something in the middle of them. In this process only: they are open requests. */
export interface SuspendedCalls {
  /** A ticket that is good for one round. Throws, and ends the call, when there is no room. */
  suspend(exchange: LegacyCall, call: ResolvedCall): string;
  /**
   * The call that waits behind a ticket, and the answers it can use. Bad answers leave it where it is; a ticket behind
   * which nothing waits any more is refused, and `distrust` in the details says why.
   */
  take(call: ResolvedCall): { readonly exchange: LegacyCall; readonly answers: InputResponses };
  close(): void;
}

export interface SuspendedCallsOptions {
  /** How long a person may think. */
  readonly ttlMs?: number;
  readonly max?: number;
  readonly maxPerPrincipal?: number;
}

interface Parked {
  readonly exchange: LegacyCall;
  readonly call: ResolvedCall;
  timer: NodeJS.Timeout;
}

const TTL_MS = 300_000;
const LAST_WORDS_MS = 5000;
const MAX = 1000;
const MAX_PER_PRINCIPAL = 16;
const MAX_REMEMBERED = 10_000;

export function suspendedCalls(options: SuspendedCallsOptions = {}): SuspendedCalls {
  const { ttlMs = TTL_MS, max = MAX, maxPerPrincipal = MAX_PER_PRINCIPAL } = options;
  const parked = new Map<string, Parked>();
  const used = new BoundedSet<string>(MAX_REMEMBERED);

  function leave(ticket: string): Parked | undefined {
    const entry = parked.get(ticket);
    clearTimeout(entry?.timer);
    parked.delete(ticket);
    return entry;
  }

  function use(ticket: string): void {
    leave(ticket);
    used.add(ticket);
  }

  // It stays a little longer, to say why: whoever has waited for the user with it looks what became of it.
  function expire(ticket: string): void {
    const entry = parked.get(ticket);
    if (!entry) return;
    entry.timer = setTimeout(() => leave(ticket), LAST_WORDS_MS).unref();
    entry.exchange.cancel(unanswered(entry.exchange.server, ttlMs));
  }

  // What has ended waits only to say so: it takes nobody's room, and goes when all of it is needed.
  function hasRoom(principal: string): boolean {
    if (parked.size >= max) {
      const [ended] = [...parked].find(([, { exchange }]) => exchange.isOver) ?? [];
      if (ended === undefined) return false;
      leave(ended);
    }
    let own = 0;
    for (const { call, exchange } of parked.values()) if (call.caller.id === principal && !exchange.isOver) own++;
    return own < maxPerPrincipal;
  }

  return {
    suspend(exchange, call) {
      if (!hasRoom(call.caller.id)) {
        const error = tooMany(exchange.server);
        exchange.cancel(error);
        throw error;
      }
      const ticket = randomUUID();
      const timer = setTimeout(() => expire(ticket), ttlMs).unref();
      parked.set(ticket, { exchange, call, timer });
      return ticket;
    },
    take(call) {
      const ticket = call.continuation?.kind === 'parked' ? call.continuation.ticket : '';
      const entry = parked.get(ticket);
      if (!entry || !isSame(entry, call)) throw notHere(call, used.has(ticket) ? 'replayed' : 'expired');
      const answers = entry.exchange.check(call.inputResponses ?? {});
      use(ticket);
      return { exchange: entry.exchange, answers };
    },
    close() {
      for (const { exchange, timer } of parked.values()) {
        clearTimeout(timer);
        exchange.cancel(new HeddleError('CALL_CANCELLED', 'Heddle is closing.'));
      }
    },
  };
}

/** A ticket is worth nothing to another caller, nor for another call. */
function isSame({ exchange, call: first }: Parked, call: ResolvedCall): boolean {
  return (
    first.caller.id === call.caller.id &&
    exchange.server === call.continuation?.server &&
    first.kind === call.kind &&
    first.target.name === call.target.name &&
    canonicalJson(first.input) === canonicalJson(call.input)
  );
}

const notHere = (call: ResolvedCall, distrust: 'replayed' | 'expired') =>
  new HeddleError('INPUT_INVALID', `${nameFor(call)} waits for no such answer: it was given already, or too late.`, {
    fix: 'Look whether the call has had effects, then call again.',
    details: { distrust },
  });
const unanswered = (server: string, ttlMs: number) =>
  new UpstreamError('UPSTREAM_TIMEOUT', `Nobody answered ${server} within ${ttlMs} ms, so the call was cancelled.`, {
    delivered: 'maybe',
  });
const tooMany = (server: string) =>
  new UpstreamError(
    'UPSTREAM_FAILED',
    `Too many calls wait for answers already, so the one to ${server} was cancelled.`,
    {
      delivered: 'maybe',
      fix: 'Answer or cancel what is waiting, then call again.',
    },
  );
