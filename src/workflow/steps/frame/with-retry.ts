import type { Retry } from '../../definition/canonical.ts';
import { advanceTo, type ExecutionParts, type Frame, pathBelow } from './frame.ts';
import { cancelledAt, type StepFailure, toStepFailure } from './step-failure.ts';

/** The smallest part of a delay that jitter leaves. */
const JITTER_FLOOR = 0.5;

/** The attempts of a step or of one call. */
export interface RetriedTask<T> {
  readonly retry: Retry | undefined;
  /** Returns true if this failure permits another attempt. */
  readonly isRetryable: (failure: StepFailure, retry: Retry) => boolean;
  readonly run: (attempt: number) => Promise<T>;
}

/** Makes attempts until one succeeds or its failure does not permit another. Waits between them. */
export async function withRetry<T>(
  execution: ExecutionParts,
  frame: Frame,
  { retry, isRetryable, run }: RetriedTask<T>,
): Promise<{ readonly value: T; readonly attempts: number }> {
  for (let attempt = 1; ; attempt++) {
    try {
      return { value: await run(attempt), attempts: attempt };
    } catch (thrown) {
      const failure = toStepFailure(thrown, frame.path);
      failure.attempts = attempt;
      if (!retry || attempt > retry.max || failure.isCancelled || !isRetryable(failure, retry)) throw failure;
      await waitForRetry(execution, frame, { retry, attempt: attempt + 1, failure });
    }
  }
}

/**
 * Permits another attempt of a call if that cannot repeat an effect: no server had the call, it may be repeated, or the
 * server says that it has failed and the step lists `isError` or the code.
 */
export function isCallRetryable(failure: StepFailure, { on = [] }: Retry): boolean {
  if (failure.isRetryable) return true;
  const isListed = on.includes(failure.error.code) || (failure.isErrorResult && on.includes('isError'));
  return isListed && !failure.mayHaveActed;
}

/** Permits another attempt of a block only for listed codes: its calls are made again. */
export const isBlockRetryable = (failure: StepFailure, { on = [] }: Retry): boolean =>
  on.includes(failure.error.code) && !failure.mayHaveActed;

interface RetryWait {
  readonly retry: Retry;
  readonly attempt: number;
  readonly failure: StepFailure;
}

async function waitForRetry(
  { durable }: ExecutionParts,
  frame: Frame,
  { retry, attempt, failure }: RetryWait,
): Promise<void> {
  const path = pathBelow(frame.path, `~retry/${attempt}`);
  const growth = retry.backoff === 'exponential' ? 2 ** (attempt - 2) : 1;
  const delay = Math.min(retry.initialMs * growth, retry.capMs);
  const random = retry.jitter && delay > 0 ? await durable.random(pathBelow(path, '~jitter')) : 1;
  const jittered = Math.round(delay * (JITTER_FLOOR + (1 - JITTER_FLOOR) * random));
  const forMs = Math.max(jittered, failure.retryAfterMs ?? 0);
  if (forMs === 0) return;
  if ((await durable.sleep(path, { forMs, signal: frame.signal })) === 'aborted') throw cancelledAt(frame.path);
  advanceTo(frame, frame.time.at + forMs);
}
