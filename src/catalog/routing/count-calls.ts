import { BoundedMap } from '../../core/bounded-map.ts';
import { isTaskCancel } from '../../core/call/task.ts';
import type { ResolvedCall, Result } from '../../core/call.ts';
import type { UpstreamError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Tally } from './tally.ts';

/** Counts the ends of calls. A task counts once, with its whole duration. */
export interface CallCounts {
  answered(call: ResolvedCall, result: Result, tally: () => Tally): void;
  failed(call: ResolvedCall, thrown: UpstreamError, tally: () => Tally): void;
}

const MAX_TASKS = 1000;

export function callCounts(clock: Clock, wallClock: Clock): CallCounts {
  const begun = new BoundedMap<string, number>(MAX_TASKS);

  function begin({ id }: ResolvedCall): void {
    begun.set(id, clock());
  }

  /** Returns the duration of a task; undefined if it began in another process, was counted already, or was cancelled. */
  function end(call: ResolvedCall): number | undefined {
    const at = begun.get(call.id);
    begun.delete(call.id);
    return at === undefined || isTaskCancel(call) ? undefined : clock() - at;
  }

  return {
    answered(call, result, tally) {
      const isTask = call.continuation?.kind === 'task';
      if (result.kind === 'working' && !isTask) begin(call);
      if (result.kind !== 'complete') return;
      const tookMs = isTask ? end(call) : result.provenance.latencyMs;
      if (tookMs !== undefined) tally().answered(tookMs, result.isError, wallClock());
    },
    failed(call, { details }, tally) {
      // A failed poll is not the end of the task.
      const isEnd = call.continuation?.kind !== 'task' || (details.task !== undefined && end(call) !== undefined);
      if (isEnd) tally().failed(wallClock());
    },
  };
}
