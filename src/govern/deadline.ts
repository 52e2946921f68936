import type { ResolvedCall, Stage } from '../core/call.ts';

const DEFAULT_MS = 30_000;

/** Settles how long the call may take: what the caller said, else what is known of the tool, else 30 s. */
export function deadline(): Stage<ResolvedCall> {
  return function deadline(call, next) {
    if (call.options.timeoutMs !== undefined) return next(call);
    const timeoutMs = call.target.facts.timeoutMs ?? DEFAULT_MS;
    return next({ ...call, options: { ...call.options, timeoutMs } });
  };
}
