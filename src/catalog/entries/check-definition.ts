import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { brokenReference } from '../../schema/broken-reference.ts';
import { brokenLimit } from '../../schema/schema-limits.ts';

// Twice what the protocol recommends.
const MAX_NAME_CHARS = 256;

/**
 * Why a tool cannot be called by anybody; undefined when nothing speaks against
 * it. Looks at the definition only: the schema is compiled when it is first
 * called, or listing many tools would take seconds.
 */
export function checkTool({ name, inputSchema }: JsonObject): string | undefined {
  if (name === '') return 'it has no name';
  if (String(name).length > MAX_NAME_CHARS) return `its name is longer than ${MAX_NAME_CHARS} characters`;
  // No schema, and one that allows everything, say the same: arguments are an object.
  if (inputSchema === undefined || inputSchema === null || inputSchema === true) return undefined;
  if (!isObject(inputSchema)) return 'its input schema is not an object';
  const broken = brokenLimit(inputSchema) ?? wrongRoot(inputSchema) ?? brokenReference(inputSchema);
  return broken && `its input schema is not usable (${broken})`;
}

/** Arguments are an object with named parts, always: what cannot describe one describes nothing. */
function wrongRoot({ type, properties, required }: JsonObject): string | undefined {
  const types = Array.isArray(type) ? type : [type];
  if (type !== undefined && !types.includes('object')) return 'it does not describe an object';
  const areSchemas = isObject(properties) && Object.values(properties).every(isSchema);
  if (properties !== undefined && !areSchemas) return '`properties` does not say what they are';
  const areNames = Array.isArray(required) && required.every((one) => typeof one === 'string');
  if (required !== undefined && !areNames) return '`required` is not a list of names';
  return undefined;
}

const isSchema = (value: unknown) => isObject(value) || typeof value === 'boolean';

const MAX_ARGUMENTS = 1000;

/** Why a prompt cannot be got by anybody; undefined when nothing speaks against it. */
export function checkPrompt({ name, arguments: taken = [] }: JsonObject): string | undefined {
  if (name === '') return 'it has no name';
  if (String(name).length > MAX_NAME_CHARS) return `its name is longer than ${MAX_NAME_CHARS} characters`;
  if (!Array.isArray(taken) || taken.length > MAX_ARGUMENTS) return 'its arguments are no list of a sane length';
  const areNamed = taken.every((one) => isObject(one) && typeof one.name === 'string' && one.name !== '');
  return areNamed ? undefined : 'one of its arguments has no name';
}
