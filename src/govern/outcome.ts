import type { Handler, Result } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';

/** How an attempt ended: `ok`, `tool-error`, `input-required`, or the code of the error. */
export interface Outcome {
  readonly outcome: string;
  readonly server: string | undefined;
  readonly durationMs: number;
}

/** Runs the rest of the pipeline and reports how it ended, whatever the end. */
export async function observed(run: () => ReturnType<Handler>, report: (outcome: Outcome) => void): Promise<Result> {
  const startedAt = performance.now();
  const say = (outcome: string, server?: string) =>
    report({ outcome, server, durationMs: Math.round((performance.now() - startedAt) * 1000) / 1000 });
  let result: Result;
  try {
    result = await run();
  } catch (thrown) {
    say(HeddleError.from(thrown).code);
    throw thrown;
  }
  if (result.kind === 'complete') say(result.isError ? 'tool-error' : 'ok', result.from.server);
  else say('input-required', result.next.server);
  return result;
}
