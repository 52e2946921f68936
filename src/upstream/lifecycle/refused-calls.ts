import { BoundedMap } from '../../core/bounded-map.ts';
import type { ResolvedCall } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';

/** The calls with one credential. Calls of a tool wait after several refusals of that tool in a row. */
export interface RefusedCalls {
  /** Sends a call. During a wait it throws the last refusal instead. `onRepeated` receives every refusal that begins a wait. */
  send<T>(call: RefusableCall, task: () => Promise<T>, onRepeated?: OnRepeated): Promise<T>;
}

type RefusableCall = Pick<ResolvedCall, 'kind' | 'target'>;
type OnRepeated = (error: HeddleError) => void;

export interface RefusedCallsOptions {
  readonly clock: Clock;
  /** Returns the version of the credential: another one ends a wait. */
  readonly versionOf: () => Promise<string>;
}

interface Refused {
  readonly error: HeddleError;
  /** The number of refusals since the last accepted call. */
  readonly inARow: number;
  readonly at: number;
  readonly version: Promise<string>;
}

interface Sending<T> {
  readonly key: string;
  readonly task: () => Promise<T>;
  readonly onRepeated: OnRepeated | undefined;
}

// One refusal concerns its call alone. After that the server is called again only now and then.
const WAITS_MS = [0, 5000, 30_000, 300_000];

const MAX_TOOLS = 1000;

/**
 * Spaces out the calls to a server that refuses one after the other with 401. Each tool and prompt waits for itself: one
 * that refuses each caller must not keep others from the rest. An accepted call of any of them ends all waits.
 */
export function refusedCalls({ clock, versionOf }: RefusedCallsOptions): RefusedCalls {
  const refusals = new BoundedMap<string, Refused>(MAX_TOOLS);

  function note(thrown: unknown, { key, onRepeated }: Sending<unknown>, before: Refused | undefined): never {
    const last = refusals.get(key);
    if (isAnswer(thrown)) refusals.clear();
    // Calls that were refused together count once.
    else if (isRefusal(thrown) && (!last || last === before)) {
      const version = versionOf().catch(() => '');
      const inARow = (last?.inARow ?? 0) + 1;
      refusals.set(key, { error: thrown, inARow, at: clock(), version });
      if (inARow > 1) onRepeated?.(thrown);
    }
    throw thrown;
  }

  function sendNow<T>(sending: Sending<T>): Promise<T> {
    const before = refusals.get(sending.key);
    return sending.task().then(
      (result) => {
        if (refusals.size > 0) refusals.clear();
        return result;
      },
      (thrown) => note(thrown, sending, before),
    );
  }

  async function sendUnlessHeld<T>(sending: Sending<T>, refused: Refused, leftMs: number): Promise<T> {
    const [before, now] = await Promise.all([refused.version, versionOf().catch(() => '')]);
    if (before === now) throw toHeld(refused.error, leftMs);
    if (refusals.get(sending.key) === refused) refusals.delete(sending.key);
    return sendNow(sending);
  }

  return {
    send(call, task, onRepeated) {
      const sending = { key: keyOf(call), task, onRepeated };
      const last = refusals.get(sending.key);
      if (!last) return sendNow(sending);
      const leftMs = waitAfter(last) - Math.max(0, clock() - last.at);
      if (leftMs > 0) return sendUnlessHeld(sending, last, leftMs);
      if (last.inARow > 1) refusals.set(sending.key, { ...last, at: clock() }); // One call tries; the others wait for its end.
      return sendNow(sending);
    },
  };
}

/** Returns the same key for calls that wait together. Clients choose the URIs of reads, so all reads have one key. */
const keyOf = ({ kind, target }: RefusableCall): string =>
  target.kind === 'tool' || target.kind === 'prompt' ? `${kind} ${target.name}` : kind;

const waitAfter = ({ inARow }: Refused): number => WAITS_MS[Math.min(inARow, WAITS_MS.length) - 1] as number;

/** Tests whether the server refused the credential of a call. Missing scopes concern calls that need them. */
const isRefusal = (thrown: unknown): thrown is HeddleError =>
  HeddleError.is(thrown) &&
  thrown.code === 'AUTH_NEEDED' &&
  thrown.details.isOfCall === true &&
  thrown.details.oauthError !== 'insufficient_scope';

/** Tests whether the server accepted the credential, and answered with an error. */
const isAnswer = (thrown: unknown): boolean => HeddleError.is(thrown) && thrown.code === 'UPSTREAM_REFUSED';

function toHeld({ message, fix, details }: HeddleError, leftMs: number): UpstreamError {
  const wait = `It refused several calls in a row and is called again in ${Math.ceil(leftMs / 1000)} s.`;
  return new UpstreamError('AUTH_NEEDED', `${message} ${wait}`, {
    delivered: 'no',
    fix,
    details: { ...details, remembered: true, unsent: true, retryAfterMs: Math.ceil(leftMs) },
  });
}
