import type { ResolvedCall, Result, Target } from '../call.ts';
import { isObject } from '../json.ts';

/** Returns true if calling twice has the same effect as calling once. */
export const isRepeatable = ({ target }: ResolvedCall): boolean => target.facts.readOnly || target.facts.idempotent;

/** Returns a sentence for a call that was not repeated, although its untrusted server declares it read-only; else empty. */
export function repeatAdvice({ servers, definition: { annotations } }: Target): string {
  const isDeclared = servers.length === 1 && isObject(annotations) && annotations.readOnlyHint === true;
  return isDeclared ? ` ${servers[0]} declares it read-only: if that is true, it is safe to repeat.` : '';
}

/** The fix beside `repeatAdvice`. */
export const REPEAT_FIX = 'Call it again if it only reads; else check the system that it changes first.';

/** The `_meta` key with which a built-in tool reports that a failed call may have had its effect. */
export const OUTCOME_META = 'dev.heddle/outcome';

/** Tests whether a result reports that its outcome is unknown. Only that of a built-in tool counts. */
export function hasUnknownOutcome(result: Result): result is Extract<Result, { readonly kind: 'complete' }> {
  if (result.kind !== 'complete' || !result.isError) return false;
  const { _meta: meta } = result.value;
  return isObject(meta) && meta[OUTCOME_META] === 'unknown';
}
