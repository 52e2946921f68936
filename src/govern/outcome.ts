import type { Call, Handler, Result } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isLook } from '../core/task.ts';

/** How an attempt ended: `ok`, `tool-error`, `input-required`, `working`, or the code of the error. */
export interface Outcome {
  readonly outcome: string;
  readonly server: string | undefined;
  readonly durationMs: number;
}

/**
 * Runs the rest of the pipeline and reports how it ended, whatever the end. A look at what a server is still at is not
 * reported: it was when it began, it will be when it ends, and a client may look many times between.
 */
export async function observed(call: Call, next: Handler, report: (outcome: Outcome) => void): Promise<Result> {
  const startedAt = performance.now();
  const say = (outcome: string, server?: string) =>
    report({ outcome, server, durationMs: Math.round((performance.now() - startedAt) * 1000) / 1000 });
  let result: Result;
  try {
    result = await next(call);
  } catch (thrown) {
    say(HeddleError.from(thrown).code);
    throw thrown;
  }
  if (result.kind === 'complete') say(result.isError ? 'tool-error' : 'ok', result.from.server);
  else if (result.kind !== 'working' || !isLook(call)) say(result.kind, result.next.server);
  return result;
}
