import type { Json } from '../../core/call.ts';
import type { Run, RunEvent, RunLog, RunResult } from '../../core/records/run.ts';
import type { StoredRun } from '../../store/run-journal.ts';

/** The fields that callers see; their type names all of them. The others are for the store alone. */
const SHOWN: Readonly<Record<keyof Run, true>> = {
  ...{
    id: true,
    workflow: true,
    digest: true,
    interpreter: true,
    status: true,
    caller: true,
    parent: true,
    depth: true,
  },
  ...{ retryOf: true, origin: true, startedAt: true, endedAt: true, wakeAt: true, stopped: true, error: true },
};

/** Leaves out the fields that only the store needs. */
export const toRun = (stored: StoredRun): Run =>
  Object.fromEntries(Object.entries(stored).filter(([key]) => Object.hasOwn(SHOWN, key))) as unknown as Run;

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
