import type { ResolvedCall } from '../call.ts';

/** Returns true if calling twice has the same effect as calling once. */
export const isRepeatable = ({ target }: ResolvedCall): boolean => target.facts.readOnly || target.facts.idempotent;
