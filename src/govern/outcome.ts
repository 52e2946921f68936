import { BoundedMap } from '../core/bounded-map.ts';
import { isTaskPoll } from '../core/call/task.ts';
import type { Call, Handler, Result } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';

/** How an attempt ended: `ok`, `tool-error`, `input-required`, `working`, or the code of the error. */
export interface Outcome {
  readonly outcome: string;
  readonly server: string | undefined;
  readonly durationMs: number;
}

/** Runs the rest of the pipeline and reports how it ended, whatever the end; of looks at a task only what is news. */
export type Observe = (call: Call, next: Handler, report: (outcome: Outcome) => void) => Promise<Result>;

const MAX_KNOWN = 1000;

/**
 * A look at what a server is still at is reported only when it shows something new: a client may look many times, and
 * the story of a call is that it began, asked and ended, not how often somebody looked.
 */
export function observer(): Observe {
  const last = new BoundedMap<string, string>(MAX_KNOWN);

  function isNews(call: Call, outcome: string): boolean {
    if (call.continuation?.kind !== 'task') return true;
    const known = last.get(call.id);
    last.delete(call.id);
    if (!isTaskPoll(call)) return true;
    if (known !== undefined) last.set(call.id, known);
    if (outcome === 'working' || known === outcome) return false;
    last.set(call.id, outcome);
    return true;
  }

  // Twice in every call, so a chain: an async function costs half a kilobyte, and the time to collect it.
  return function observed(call, next, report) {
    const startedAt = performance.now();
    const say = (outcome: string, server?: string) => {
      if (!isNews(call, outcome)) return;
      report({ outcome, server, durationMs: Math.round((performance.now() - startedAt) * 1000) / 1000 });
    };
    return next(call).then(
      (result) => {
        if (result.kind === 'complete') say(result.isError ? 'tool-error' : 'ok', result.provenance.server);
        else say(result.kind, result.continuation.server);
        return result;
      },
      (thrown) => {
        say(HeddleError.from(thrown).code);
        throw thrown;
      },
    );
  };
}
