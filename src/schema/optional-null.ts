import type { ErrorObject } from 'ajv';
import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';

/**
 * Returns a function that names the optional property of the input whose null caused an error.
 * It returns undefined for every other error. The schema decides on required properties and on nulls that it allows.
 */
export function optionalNulls({ properties, required }: JsonObject): (error: ErrorObject) => string | undefined {
  const declared = isObject(properties) ? properties : {};
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  return function nullBehind({ instancePath, data }) {
    const [root, name, ...deeper] = instancePath.split('/', 3);
    if (data !== null || root !== '' || name === undefined || deeper.length > 0) return undefined;
    const plain = name.replaceAll('~1', '/').replaceAll('~0', '~');
    return Object.hasOwn(declared, plain) && !needed.has(plain) ? plain : undefined;
  };
}
