import { HeddleError } from '../../../core/errors.ts';
import type { RunError } from '../../../core/records/run.ts';
import { RunInterrupted, type StepEnd } from '../../run/durable.ts';

/** The code of a step that an enclosing step, a lost race or the caller has ended. `onError` does not apply to it. */
export const CANCELLED = 'CANCELLED';

interface FailureOptions {
  /** It is unknown whether a call of the step had effects. */
  readonly mayHaveActed?: boolean;
  readonly isRetryable?: boolean;
  readonly retryAfterMs?: number;
  /** The tool has returned a result that is an error. */
  readonly isErrorResult?: boolean;
}

/** The failure of one step. */
export class StepFailure extends Error {
  readonly error: RunError;
  readonly mayHaveActed: boolean;
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly isErrorResult: boolean;
  /** The number of attempts, once they are over. */
  attempts = 1;

  constructor(error: RunError, options: FailureOptions = {}) {
    super(error.message);
    this.name = 'StepFailure';
    this.error = error;
    this.mayHaveActed = options.mayHaveActed ?? false;
    this.isRetryable = options.isRetryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.isErrorResult = options.isErrorResult ?? false;
  }

  /** The code of the error, for the code of a step that catches it. */
  get code(): string {
    return this.error.code;
  }

  get isCancelled(): boolean {
    return this.error.code === CANCELLED;
  }
}

/** Converts a thrown value to the failure of the step at `path`. Throws RunInterrupted again: it is no failure. */
export function toStepFailure(thrown: unknown, path: string): StepFailure {
  if (thrown instanceof RunInterrupted) throw thrown;
  if (thrown instanceof StepFailure) return thrown;
  const { code, message, fix, details } = HeddleError.from(thrown);
  return new StepFailure({ code, message, fix, path, ...(Object.keys(details).length > 0 && { details }) });
}

/** Returns the failure of a call that has ended without a result. */
export function failedCall(path: string, end: Extract<StepEnd, { readonly ok: false }>): StepFailure {
  return new StepFailure({ ...end.error, path }, end);
}

/** Returns the failure of a step whose signal has aborted. */
export const cancelledAt = (path: string): StepFailure =>
  new StepFailure({ code: CANCELLED, message: `The step ${path} was cancelled.`, path });

/** Returns the failure of a step whose time is over. */
export function timedOut(path: string, timeoutMs: number, cause: StepFailure): StepFailure {
  const subject = path === '' ? 'The run' : `The step ${path}`;
  const fix = `Raise its ${path === '' ? 'limit of time' : '`timeout`'}, or find out why it takes longer.`;
  const message = `${subject} did not end within ${timeoutMs} ms.`;
  return new StepFailure(
    { code: 'TIMEOUT', message, fix, ...(path !== '' && { path }) },
    { mayHaveActed: cause.mayHaveActed },
  );
}
