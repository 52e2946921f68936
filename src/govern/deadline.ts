import type { DecidedCall, Stage } from '../core/call.ts';

// `setTimeout` with a longer delay fires at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Sets the timeout of a call: the caller's `timeoutMs`, else the tool's. Without either, the connection applies the
 * default of the MCP method.
 */
export function deadline(): Stage<DecidedCall> {
  return function deadline(call, next) {
    const wanted = call.options.timeoutMs ?? call.target.facts.timeoutMs;
    if (wanted === undefined) return next(call);
    const timeoutMs = Math.min(wanted, LONGEST_TIMER_MS);
    return next({ ...call, options: { ...call.options, timeoutMs } });
  };
}
