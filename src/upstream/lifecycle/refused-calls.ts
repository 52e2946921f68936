import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';

/** The calls with one credential. Calls wait after several refusals in a row. */
export interface RefusedCalls {
  /** Sends a call. During a wait it throws the last refusal instead. `onRepeated` receives every refusal that begins a wait. */
  send<T>(task: () => Promise<T>, onRepeated?: OnRepeated): Promise<T>;
}

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

// One refusal concerns its call alone. After that the server is called again only now and then.
const WAITS_MS = [0, 5000, 30_000, 300_000];

/** Spaces out the calls to a server that refuses one after the other with 401. An accepted call ends that. */
export function refusedCalls({ clock, versionOf }: RefusedCallsOptions): RefusedCalls {
  let last: Refused | undefined;

  function note(thrown: unknown, before: Refused | undefined, onRepeated?: OnRepeated): never {
    if (isAnswer(thrown)) last = undefined;
    // Calls that were refused together count once.
    else if (isRefusal(thrown) && (!last || last === before)) {
      const version = versionOf().catch(() => '');
      last = { error: thrown, inARow: (last?.inARow ?? 0) + 1, at: clock(), version };
      if (last.inARow > 1) onRepeated?.(thrown);
    }
    throw thrown;
  }

  function sendNow<T>(task: () => Promise<T>, onRepeated?: OnRepeated): Promise<T> {
    const before = last;
    return task().then(
      (result) => {
        last = undefined;
        return result;
      },
      (thrown) => note(thrown, before, onRepeated),
    );
  }

  async function sendUnlessHeld<T>(task: () => Promise<T>, refused: Refused, leftMs: number): Promise<T> {
    const [before, now] = await Promise.all([refused.version, versionOf().catch(() => '')]);
    if (before === now) throw toHeld(refused.error, leftMs);
    if (last === refused) last = undefined;
    return sendNow(task);
  }

  return {
    send(task, onRepeated) {
      if (!last) return sendNow(task, onRepeated);
      const leftMs = waitAfter(last) - Math.max(0, clock() - last.at);
      if (leftMs > 0) return sendUnlessHeld(task, last, leftMs);
      if (last.inARow > 1) last = { ...last, at: clock() }; // One call tries; the others wait for its end.
      return sendNow(task, onRepeated);
    },
  };
}

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
