import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';

const MAX_NAME_CHARS = 256;
const MAX_ARGUMENTS = 1000;

/** Why a prompt cannot be got by anybody; undefined when nothing speaks against it. */
export function checkPrompt({ name, arguments: taken = [] }: JsonObject): string | undefined {
  if (name === '') return 'it has no name';
  if (String(name).length > MAX_NAME_CHARS) return `its name is longer than ${MAX_NAME_CHARS} characters`;
  if (!Array.isArray(taken) || taken.length > MAX_ARGUMENTS) return 'its arguments are no list of a sane length';
  const areNamed = taken.every((one) => isObject(one) && typeof one.name === 'string' && one.name !== '');
  return areNamed ? undefined : 'one of its arguments has no name';
}
