import type { Json } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { abortBelow } from './frame/abort-below.ts';
import { type ExecutionParts, type Frame, pathBelow } from './frame/frame.ts';
import { cancelledAt, StepFailure, toStepFailure } from './frame/step-failure.ts';

const MAX_ITEMS = 10_000;

/** Work on each item of a list. */
export interface ItemWork<T> {
  readonly items: readonly Json[];
  readonly maxConcurrency: number;
  /** The number of failed items with which the step goes on. */
  readonly tolerated: number;
  readonly run: (item: Json, index: number, signal: AbortSignal) => Promise<T>;
}

/** The end of one item. */
export type ItemEnd<T> = { readonly value: T } | { readonly failure: StepFailure };

/** Checks that a value is a list that is not too long. Throws before the first call. */
export function toItems(value: Json, path: string): readonly Json[] {
  if (!Array.isArray(value)) {
    throw new HeddleError('EXPRESSION_FAILED', `The items of the step ${path} are not a list.`, {
      fix: 'Give an expression whose value is a list.',
    });
  }
  if (value.length > MAX_ITEMS) {
    throw new HeddleError(
      'EXPRESSION_FAILED',
      `The step ${path} has ${value.length} items, and ${MAX_ITEMS} are allowed.`,
      { fix: 'Filter the list, or process it in several runs.' },
    );
  }
  return value;
}

/**
 * Runs workers that pull items in order. Returns the ends in the order of the list. Beyond the tolerated failures it
 * aborts the rest and throws the failure that is recorded as the one too many.
 */
export async function pullItems<T>(
  { durable }: ExecutionParts,
  frame: Frame,
  { items, maxConcurrency, tolerated, run }: ItemWork<T>,
): Promise<readonly ItemEnd<T>[]> {
  const stop = pathBelow(frame.path, '~stop');
  const aborter = abortBelow(frame.signal);
  if (durable.recorded(stop) !== undefined) aborter.abort();
  const ends: ItemEnd<T>[] = [];
  let next = 0;
  let failed = 0;
  let cancelled = 0;

  async function settle(index: number, thrown: unknown): Promise<void> {
    const failure = toStepFailure(thrown, pathBelow(frame.path, `[${index}]`));
    ends[index] = { failure };
    if (failure.isCancelled) cancelled++;
    else if (++failed > tolerated) {
      await durable.record(stop, () => index);
      aborter.abort();
    }
  }

  // After an abort it goes on to the items that had begun, for their recorded ends: at most one per worker is cancelled.
  const hasMore = () => next < items.length && !(aborter.signal.aborted && cancelled > maxConcurrency);

  async function work(): Promise<void> {
    while (hasMore()) {
      const index = next++;
      try {
        ends[index] = { value: await run(items[index] as Json, index, aborter.signal) };
      } catch (thrown) {
        await settle(index, thrown);
      }
    }
  }

  try {
    const workers = Array.from({ length: Math.min(maxConcurrency, items.length) }, work);
    for (const one of await Promise.allSettled(workers)) if (one.status === 'rejected') throw one.reason;
    throwIfStopped(frame.path, ends, durable.recorded(stop));
    return ends;
  } finally {
    aborter.release();
  }
}

function throwIfStopped<T>(path: string, ends: readonly ItemEnd<T>[], stop: Json | undefined): void {
  const failures = ends.flatMap((end) => ('failure' in end ? [end.failure] : []));
  const mayHaveActed = failures.some((failure) => failure.mayHaveActed);
  const last = typeof stop === 'number' ? ends[stop] : undefined;
  if (last && 'failure' in last) throw new StepFailure(last.failure.error, { mayHaveActed });
  if (failures.some(({ isCancelled }) => isCancelled)) throw new StepFailure(cancelledAt(path).error, { mayHaveActed });
}
