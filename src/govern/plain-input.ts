import { nameFor } from '../core/call/name-for.ts';
import type { JsonObject, ResolvedCall } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';

/** The call, when its input is what MCP wants where there is no schema: texts by name. Throws INPUT_INVALID. */
export function withPlainInput(call: ResolvedCall): ResolvedCall {
  const wrong = complaintAbout(call);
  if (wrong === undefined) return call;
  throw new HeddleError('INPUT_INVALID', `The arguments of ${nameFor(call)} do not fit: ${wrong}.`, {
    fix: 'Send the arguments it lists, each as a text.',
  });
}

function complaintAbout({ kind, input, target }: ResolvedCall): string | undefined {
  if (kind === 'prompt') return complaintAboutTexts(input) ?? missing(target.definition, input);
  return kind === 'completion' ? complaintAboutCompletion(input) : undefined;
}

function complaintAboutTexts(input: JsonObject): string | undefined {
  const [wrong] = Object.entries(input).filter(([, value]) => typeof value !== 'string');
  return wrong && `${wrong[0]} has to be a text`;
}

function missing({ arguments: taken }: JsonObject, input: JsonObject): string | undefined {
  const listed = Array.isArray(taken) ? taken : [];
  const required = listed.flatMap((one) => (isObject(one) && one.required === true ? String(one.name) : []));
  const absent = required.find((name) => !Object.hasOwn(input, name));
  return absent && `${absent} is missing`;
}

function complaintAboutCompletion({ argument, context = {} }: JsonObject): string | undefined {
  const isArgument = isObject(argument) && typeof argument.name === 'string' && typeof argument.value === 'string';
  if (!isArgument) return '`argument` has to have a name and a value, both texts';
  const settled = isObject(context) ? (context.arguments ?? {}) : undefined;
  return isObject(settled) ? complaintAboutTexts(settled) : '`context` has to have arguments';
}
