import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { brokenReference } from '../../schema/broken-reference.ts';
import { brokenLimit } from '../../schema/schema-limits.ts';

// Twice what the protocol recommends.
const MAX_NAME_CHARS = 256;

/**
 * Returns the reason why a tool cannot be called, or undefined. The schema is not compiled before the first call, since
 * that would slow down listing many tools.
 */
export function checkTool({ name, inputSchema }: JsonObject): string | undefined {
  if (name === '') return 'it has no name';
  if (String(name).length > MAX_NAME_CHARS) return `its name is longer than ${MAX_NAME_CHARS} characters`;
  // No schema and `true` both allow any object.
  if (inputSchema === undefined || inputSchema === null || inputSchema === true) return undefined;
  if (!isObject(inputSchema)) return 'its input schema is not an object';
  const broken = brokenLimit(inputSchema) ?? wrongRoot(inputSchema) ?? brokenReference(inputSchema);
  return broken && `its input schema is not usable (${broken})`;
}

/** Returns the reason why a schema cannot describe an object of arguments. */
function wrongRoot({ type, properties, required }: JsonObject): string | undefined {
  const types = Array.isArray(type) ? type : [type];
  if (type !== undefined && !types.includes('object')) return 'it does not describe an object';
  const areSchemas = isObject(properties) && Object.values(properties).every(isSchema);
  if (properties !== undefined && !areSchemas) return '`properties` is not an object of schemas';
  const areNames = Array.isArray(required) && required.every((one) => typeof one === 'string');
  if (required !== undefined && !areNames) return '`required` is not a list of names';
  return undefined;
}

const isSchema = (value: unknown) => isObject(value) || typeof value === 'boolean';

const MAX_ARGUMENTS = 1000;

/** Returns the reason why a prompt cannot be used, or undefined. */
export function checkPrompt({ name, arguments: declared = [] }: JsonObject): string | undefined {
  if (name === '') return 'it has no name';
  if (String(name).length > MAX_NAME_CHARS) return `its name is longer than ${MAX_NAME_CHARS} characters`;
  if (!Array.isArray(declared) || declared.length > MAX_ARGUMENTS)
    return 'its arguments are not a list of at most 1000';
  const areNamed = declared.every((one) => isObject(one) && typeof one.name === 'string' && one.name !== '');
  return areNamed ? undefined : 'one of its arguments has no name';
}
