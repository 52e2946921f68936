import { abortBelow } from './abort-below.ts';
import type { ExecutionParts, Frame } from './frame.ts';
import { timedOut, toStepFailure } from './step-failure.ts';

interface Timeout {
  /** The path of the timer. */
  readonly path: string;
  readonly timeoutMs: number | undefined;
}

/**
 * Runs a task and aborts it when its time is over. The task decides its own end: if it succeeds in spite of the abort,
 * it has succeeded. So a later execution ends in the same way.
 */
export async function withTimeout<T>(
  execution: ExecutionParts,
  frame: Frame,
  { path, timeoutMs, run }: Timeout & { readonly run: (frame: Frame) => Promise<T> },
): Promise<T> {
  if (timeoutMs === undefined) return run(frame);
  const { durable } = execution;
  const aborter = abortBelow(frame.signal);
  const ended = abortBelow(aborter.signal);
  let isOver = durable.recorded(path) === true;
  if (isOver) aborter.abort();
  const timer = isOver
    ? Promise.resolve()
    : durable.sleep(path, { forMs: timeoutMs, pausedBelow: frame.path, signal: ended.signal }).then((end) => {
        isOver = end === 'elapsed';
        if (isOver) aborter.abort();
      });
  timer.catch(() => {}); // The task rejects with RunInterrupted, too.
  try {
    return await run({ ...frame, signal: aborter.signal });
  } catch (thrown) {
    const failure = toStepFailure(thrown, frame.path);
    throw failure.isCancelled && isOver ? timedOut(frame.path, timeoutMs, failure) : failure;
  } finally {
    ended.abort();
    ended.release();
    aborter.release();
  }
}
