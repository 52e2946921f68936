import type { Json } from '../core/call.ts';
import { canonicalJson } from '../core/json.ts';
import type { StepBudget } from './step-budget.ts';

const STEPS_PER_NESTED = 8;
const STEPS_PER_KEY = 4;
const STEPS_PER_PLAIN = 3;

/** Serialises a value so that equal values have the same text. Takes the steps of its parts before. */
export function countedJson(value: Json, budget: StepBudget): string {
  takeParts(value, budget);
  return canonicalJson(value);
}

function takeParts(value: Json, budget: StepBudget): void {
  if (typeof value !== 'object' || value === null) {
    budget.take(STEPS_PER_PLAIN + (typeof value === 'string' ? value.length >> 2 : 0));
  } else if (Array.isArray(value)) {
    budget.take(STEPS_PER_NESTED);
    for (const item of value) takeParts(item, budget);
  } else {
    budget.take(STEPS_PER_NESTED);
    for (const key in value) {
      budget.take(STEPS_PER_KEY + (key.length >> 2));
      takeParts((value as Readonly<Record<string, Json>>)[key] as Json, budget);
    }
  }
}
