import type { Json } from '../../core/call.ts';
import type { Run, RunEvent, RunLog, RunResult } from '../../core/records/run.ts';
import type { StoredRun } from '../../store/run-journal.ts';

/** Leaves out the fields that only the store needs. */
export function toRun(stored: StoredRun): Run {
  const { input: _, output: __, signalSeen: ___, callId: ____, timeoutAt: _____, ...rest } = stored;
  const { detached: ______, traceparent: _______, left: ________, ...run } = rest;
  return run;
}

/** Returns the log of a run from its history. */
const logsOf = (events: readonly RunEvent[]): readonly RunLog[] =>
  events.flatMap(({ kind, path, at, detail }) =>
    kind === 'log' ? [{ ...(detail as unknown as Omit<RunLog, 'path' | 'timestamp'>), path, timestamp: at }] : [],
  );

/** The kinds of the events that a result is made of. Those of calls hold large values. */
export const RESULT_KINDS: readonly string[] = ['log', 'ended'];

/** Returns the result of a run that has ended, from its events of `RESULT_KINDS`. */
export function toRunResult(run: StoredRun, output: Json, events: readonly RunEvent[]): RunResult {
  const logs = logsOf(events);
  const steps = events.findLast(({ kind }) => kind === 'ended')?.detail.stepsExecuted;
  return {
    runId: run.id,
    status: run.status,
    success: run.status === 'succeeded',
    output,
    ...(run.error && { error: run.error }),
    executionTimeMs: (run.endedAt ?? run.startedAt) - run.startedAt,
    stepsExecuted: typeof steps === 'number' ? steps : 0,
    logs,
  };
}
