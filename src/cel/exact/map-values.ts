import { UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { KEY_REPEATED, NO_SUCH_KEY } from './computation-failure.ts';

type MapKey = string | bigint | boolean;

/** Returns true for a map of CEL: an object of JSON, or a map with keys that are no texts. */
export function isMap(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof Map) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Returns the key by its value: 1, 1u and 1.0 are the same key. Returns undefined for what cannot be a key. */
export function keyOf(value: unknown): MapKey | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : undefined;
  if (value instanceof UnsignedInt) return value.valueOf();
  return typeof value === 'string' || typeof value === 'bigint' || typeof value === 'boolean' ? value : undefined;
}

/** Returns the value of a key; undefined if the map does not have it. The number 1 is no key of `{"1": …}`. */
export function entryOf(map: object, value: unknown): unknown {
  const key = keyOf(value);
  if (key === undefined) return undefined;
  if (map instanceof Map) return map.get(key);
  return typeof key === 'string' && Object.hasOwn(map, key) ? (map as Record<string, unknown>)[key] : undefined;
}

export const entriesOf = (map: object): readonly (readonly [unknown, unknown])[] =>
  map instanceof Map ? [...map] : Object.entries(map);

/** Makes the map of a literal: an object if all its keys are texts. Throws for a repeated or unsupported key. */
export function makeMap(entries: readonly (readonly [unknown, unknown])[]): object {
  const made = new Map<MapKey, unknown>();
  let isJson = true;
  for (const [given, value] of entries) {
    const key = keyOf(given);
    if (key === undefined) throw NO_SUCH_KEY;
    if (made.has(key)) throw KEY_REPEATED;
    isJson &&= typeof key === 'string';
    made.set(key, value);
  }
  return isJson ? Object.fromEntries(made) : made;
}
