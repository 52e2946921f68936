import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { SchemaProblem } from './evaluation.ts';

/**
 * Returns a function that names the optional property of the input whose null caused a problem.
 * It returns undefined for every other problem. The schema decides on required properties and on nulls that it allows.
 */
export function optionalNulls({ properties, required }: JsonObject): (problem: SchemaProblem) => string | undefined {
  const declared = isObject(properties) ? properties : {};
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  return function nullBehind({ path, value }) {
    const [name, ...deeper] = path;
    if (value !== null || name === undefined || deeper.length > 0) return undefined;
    return Object.hasOwn(declared, name) && !needed.has(name) ? name : undefined;
  };
}
