import { repeatEvery, type Timer } from '../../core/time.ts';
import type { AuthenticatedCaller } from '../http-request.ts';

const RECHECK_MS = 25_000;

interface RevalidationCallbacks {
  readonly onValid: () => void;
  readonly onRevoked: () => void;
}

/**
 * Checks a credential every 25 s while a stream or connection is open, since it may be revoked meanwhile.
 * Returns a function that stops the checks.
 */
export function revalidateCredential(
  isStillAuthorized: AuthenticatedCaller['isStillAuthorized'],
  timer: Timer,
  { onValid, onRevoked }: RevalidationCallbacks,
): () => void {
  let isStopped = false;
  const stopTimer = repeatEvery(timer, RECHECK_MS, async () => {
    const isAuthorized = await isStillAuthorized();
    if (isStopped) return;
    if (isAuthorized) onValid();
    else onRevoked();
  });
  return () => {
    isStopped = true;
    stopTimer();
  };
}
