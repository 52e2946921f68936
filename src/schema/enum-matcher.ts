import type { Json } from '../core/call.ts';
import { canonicalJson } from '../core/json.ts';
import { countedJson } from './counted-json.ts';
import { plainSet } from './plain-set.ts';
import type { StepBudget } from './step-budget.ts';

// Listing the keys of a large object takes as long as this many steps per key.
const STEPS_PER_KEY = 4;

type Nested = Extract<Json, object>;

/** Returns a function that compares a value with the allowed ones. Its work does not grow with their number. */
export function enumMatcher(allowed: readonly Json[], checking: StepBudget): (value: Json) => boolean {
  const plain = plainSet(allowed.filter((one) => !isNested(one)));
  const nested = allowed.filter(isNested);
  const sizes = new Set(nested.map(sizeOf));
  const texts = new Set(nested.map(canonicalJson));
  return function isAllowed(value) {
    if (!isNested(value)) {
      // Equal texts are compared to their ends.
      if (typeof value === 'string') checking.take(value.length >> 6);
      return plain.has(value);
    }
    if (nested.length === 0) return false;
    const size = sizeOf(value);
    checking.take(size * STEPS_PER_KEY);
    // The number of keys or items rules most values out without serializing them.
    if (!sizes.has(size)) return false;
    return texts.has(countedJson(value, checking));
  };
}

const isNested = (value: Json): value is Nested => typeof value === 'object' && value !== null;
const sizeOf = (value: Nested) => (Array.isArray(value) ? value.length : Object.keys(value).length);
