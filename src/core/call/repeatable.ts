import type { ResolvedCall } from '../call.ts';

/** Whether doing it twice is the same as doing it once. */
export const isRepeatable = ({ target }: ResolvedCall): boolean => target.facts.readOnly || target.facts.idempotent;
