import { BoundedMap } from '../../core/bounded-map.ts';
import { isTaskCancel } from '../../core/call/task.ts';
import type { ResolvedCall, Result } from '../../core/call.ts';
import type { UpstreamError } from '../../core/errors.ts';
import type { Clock } from '../../core/time.ts';
import type { Tally } from './tally.ts';

/** Counts how calls end. One that its server goes on with by itself counts once, with all the time it took. */
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

  /** How long a task took; undefined of one that began elsewhere, was counted already, or was told to stop. */
  function end(call: ResolvedCall): number | undefined {
    const at = begun.get(call.id);
    begun.delete(call.id);
    return at === undefined || isTaskCancel(call) ? undefined : clock() - at;
  }

  return {
    answered(call, result, tally) {
      const isRound = call.continuation?.kind === 'task';
      if (result.kind === 'working' && !isRound) begin(call);
      if (result.kind !== 'complete') return;
      const tookMs = isRound ? end(call) : result.provenance.latencyMs;
      if (tookMs !== undefined) tally().answered(tookMs, result.isError, wallClock());
    },
    failed(call, { details }, tally) {
      // That a task could not be looked at says nothing of how the call went.
      const isEnd = call.continuation?.kind !== 'task' || (details.task !== undefined && end(call) !== undefined);
      if (isEnd) tally().failed(wallClock());
    },
  };
}
