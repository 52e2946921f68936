import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../../core/call.ts';
import { withPlainNumbers } from '../../core/exact-numbers.ts';
import { isObject } from '../../core/json.ts';
import { resolveReference, typesOf } from './declared-arguments.ts';

/**
 * Tests a value against the type, the enumeration and the alternatives of a schema. Parts of the value are not tested:
 * the whole input schema is checked when the call is dispatched.
 */
export function fitsSchema(root: Json | undefined, schema: Json | undefined, value: Json): boolean {
  const plain = withPlainNumbers(value);
  // Each schema is tested once: references may repeat one many times, or lead back to it.
  const known = new Map<JsonObject, boolean>();
  function fits(one: Json | undefined): boolean {
    if (!isObject(one)) return one !== false;
    const before = known.get(one);
    if (before !== undefined) return before;
    known.set(one, true);
    const all = [
      hasType(one, plain),
      one.const === undefined || isDeepStrictEqual(one.const, plain),
      !Array.isArray(one.enum) || one.enum.some((item) => isDeepStrictEqual(item, plain)),
      one.$ref === undefined || fits(resolveReference(root, one.$ref)),
      !Array.isArray(one.allOf) || one.allOf.every(fits),
      !Array.isArray(one.anyOf) || one.anyOf.some(fits),
      !Array.isArray(one.oneOf) || one.oneOf.some(fits),
    ];
    const isFitting = all.every(Boolean);
    known.set(one, isFitting);
    return isFitting;
  }
  return fits(schema);
}

function hasType(schema: JsonObject, value: Json): boolean {
  const types = typesOf(schema);
  return types.length === 0 || types.some((type) => isOfType(type, value));
}

function isOfType(type: string, value: Json): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
