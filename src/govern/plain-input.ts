import { nameFor } from '../core/call/name-for.ts';
import type { JsonObject, ResolvedCall } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';

/** Checks the input of a prompt or completion, which has no schema: all values are strings. Throws INPUT_INVALID. */
export function withPlainInput(call: ResolvedCall): ResolvedCall {
  const problem = findProblem(call);
  if (problem === undefined) return call;
  throw new HeddleError('INPUT_INVALID', `The arguments of ${nameFor(call)} do not fit: ${problem}.`, {
    fix: 'Send the arguments it lists, each as a text.',
  });
}

function findProblem({ kind, input, target }: ResolvedCall): string | undefined {
  if (kind === 'prompt') return findNonText(input) ?? findMissing(target.definition, input);
  return kind === 'completion' ? findProblemInCompletion(input) : undefined;
}

function findNonText(input: JsonObject): string | undefined {
  const [wrong] = Object.entries(input).filter(([, value]) => typeof value !== 'string');
  return wrong && `${wrong[0]} has to be a text`;
}

function findMissing({ arguments: declared }: JsonObject, input: JsonObject): string | undefined {
  const listed = Array.isArray(declared) ? declared : [];
  const required = listed.flatMap((one) => (isObject(one) && one.required === true ? String(one.name) : []));
  const absent = required.find((name) => !Object.hasOwn(input, name));
  return absent && `${absent} is missing`;
}

function findProblemInCompletion({ argument, context = {} }: JsonObject): string | undefined {
  const isArgument = isObject(argument) && typeof argument.name === 'string' && typeof argument.value === 'string';
  if (!isArgument) return '`argument` has to have a name and a value, both texts';
  const settled = isObject(context) ? (context.arguments ?? {}) : undefined;
  return isObject(settled) ? findNonText(settled) : '`context` has to have arguments';
}
