import type { ResolvedCall, Stage } from '../core/call.ts';

const DEFAULT_MS = 30_000;
// A timer set for longer goes off at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Settles how long the call may take: what the caller said, else what is known of the tool, else 30 s. */
export function deadline(): Stage<ResolvedCall> {
  return function deadline(call, next) {
    const wanted = call.options.timeoutMs ?? call.target.facts.timeoutMs ?? DEFAULT_MS;
    const timeoutMs = Math.min(wanted, LONGEST_TIMER_MS);
    return next({ ...call, options: { ...call.options, timeoutMs } });
  };
}
