import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { shownValue } from './field.ts';
import { KINDS } from './rich/step-kinds.ts';

/** Returns the form of a definition, or the reason why it has none. `heddle: 1` is the rich form. */
export function findForm(root: Json): 'rich' | 'classic' | { readonly message: string; readonly fix: string } {
  if (!isObject(root)) {
    return { message: 'The definition is not an object.', fix: 'Write `heddle: 1`, `name` and `steps`.' };
  }
  if (root.heddle === 1) return 'rich';
  if (root.heddle !== undefined) {
    const message = `\`heddle\` is \`${shownValue(root.heddle)}\`; this version of Heddle reads 1.`;
    return { message, fix: 'Write `heddle: 1`, or update Heddle.' };
  }
  const steps = Array.isArray(root.steps) ? (root.steps as readonly Json[]).filter(isObject) : [];
  const isClassic = isNamed(root, 'errorHandling', 'error_handling') || steps.some(isClassicStep);
  if (isClassic || !steps.some((step) => Object.keys(step).some((key) => Object.hasOwn(KINDS, key)))) return 'classic';
  return { message: 'The definition has no `heddle` key.', fix: 'Add `heddle: 1` at its top.' };
}

const isNamed = (object: JsonObject, ...names: readonly string[]) => names.some((name) => object[name] !== undefined);

const isClassicStep = (step: JsonObject): boolean =>
  isNamed(
    step,
    'type',
    'toolName',
    'tool_name',
    'branches',
    'condition',
    'splitExpression',
    'split_expression',
    'steps',
  );
