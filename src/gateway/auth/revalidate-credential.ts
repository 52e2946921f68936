import { repeatEvery, type Timer } from '../../core/time.ts';
import type { AuthenticatedRequest } from '../http-request.ts';

const RECHECK_MS = 25_000;

interface Ends {
  readonly stay: () => void;
  readonly leave: () => void;
}

/**
 * Looks again and again whether whoever stays still may: a stream or a line outlives the moment its credential was
 * shown. What it returns ends that.
 */
export function revalidateCredential(
  stillMay: AuthenticatedRequest['isStillAuthorized'],
  alarm: Timer,
  { stay, leave }: Ends,
): () => void {
  let over = false;
  const stop = repeatEvery(alarm, RECHECK_MS, async () => {
    const may = await stillMay();
    if (over) return;
    if (may) stay();
    else leave();
  });
  return () => {
    over = true;
    stop();
  };
}
