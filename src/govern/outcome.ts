import { BoundedMap } from '../core/bounded-map.ts';
import { serverOf } from '../core/call/continuation.ts';
import { isTaskPoll } from '../core/call/task.ts';
import type { Call, Handler, Result } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';

export interface Outcome {
  /** `ok`, `tool-error`, `output-mismatch`, `input-required`, `waiting`, `working`, or the error code. */
  readonly outcome: string;
  /** How a result differs from the output schema of its tool. */
  readonly mismatch?: string | undefined;
  readonly server: string | undefined;
  readonly durationMs: number;
}

/** Runs the rest of the pipeline and reports its outcome, thrown errors included. */
export type Observe = (call: Call, next: Handler, report: (outcome: Outcome) => void) => Promise<Result>;

const MAX_KNOWN = 1000;

/** Reports each outcome, but a poll of a task or an approval only when its outcome is new: a client may poll many times. */
export function observer(): Observe {
  const last = new BoundedMap<string, string>(MAX_KNOWN);

  function isNew(call: Call, outcome: string): boolean {
    // A front end may poll an approval many times.
    if (call.continuation?.kind === 'approval') return outcome !== 'waiting';
    if (call.continuation?.kind !== 'task') return true;
    const known = last.get(call.id);
    last.delete(call.id);
    if (!isTaskPoll(call)) return true;
    if (known !== undefined) last.set(call.id, known);
    if (outcome === 'working' || known === outcome) return false;
    last.set(call.id, outcome);
    return true;
  }

  // Runs twice in every call. A promise chain saves the 0.5 KB that an async function allocates.
  return function observed(call, next, report) {
    const startedAt = performance.now();
    const end = (outcome: string, server?: string, mismatch?: string) => {
      if (!isNew(call, outcome)) return;
      report({ outcome, server, mismatch, durationMs: Math.round((performance.now() - startedAt) * 1000) / 1000 });
    };
    return next(call).then(
      (result) => {
        if (result.kind === 'complete') end(outcomeOf(result), result.provenance.server, result.provenance.mismatch);
        else end(result.kind, serverOf(result.continuation));
        return result;
      },
      (thrown) => {
        end(HeddleError.from(thrown).code);
        throw thrown;
      },
    );
  };
}

function outcomeOf({ isError, provenance }: Extract<Result, { readonly kind: 'complete' }>): string {
  if (isError) return 'tool-error';
  return provenance.mismatch === undefined ? 'ok' : 'output-mismatch';
}
