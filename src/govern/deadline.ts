import type { ResolvedCall, Stage } from '../core/call.ts';

// A timer set for longer goes off at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Settles how long the call may take: what the caller said, else what is known of the tool. Where nobody has said
 * anything it depends on what the server is asked for, which only its line knows.
 */
export function deadline(): Stage<ResolvedCall> {
  return function deadline(call, next) {
    const wanted = call.options.timeoutMs ?? call.target.facts.timeoutMs;
    if (wanted === undefined) return next(call);
    const timeoutMs = Math.min(wanted, LONGEST_TIMER_MS);
    return next({ ...call, options: { ...call.options, timeoutMs } });
  };
}
