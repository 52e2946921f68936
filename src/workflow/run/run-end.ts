import type { Json } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { RunError, RunStatus } from '../../core/records/run.ts';

/** The end of a run. */
export interface RunEnd {
  readonly status: RunStatus;
  readonly stepsExecuted: number;
  readonly error?: RunError;
  readonly output?: Json;
}

/** Converts a failure of the interpreter. */
export function toRunEnd(thrown: unknown): RunEnd {
  if (thrown instanceof Error && 'status' in thrown && 'error' in thrown) {
    const { status, error, stepsExecuted } = thrown as unknown as Required<RunEnd>;
    return { status, error, stepsExecuted };
  }
  const { code, message, fix } = HeddleError.from(thrown);
  return { status: 'failed', error: { code, message, fix }, stepsExecuted: 0 };
}
