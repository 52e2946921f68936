import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

/** Returns the value under a dotted name. */
export function readDotted(value: JsonObject, name: string): Json | undefined {
  let found: Json | undefined = value;
  for (const step of name.split('.')) {
    found = isObject(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  }
  return found;
}

/** Returns a copy with a value under a dotted name. */
export function writtenDotted(value: JsonObject, name: string, member: Json): JsonObject {
  const [first = '', ...rest] = name.split('.');
  if (rest.length === 0) return { ...value, [first]: member };
  const inner = value[first];
  return { ...value, [first]: writtenDotted(isObject(inner) ? inner : {}, rest.join('.'), member) };
}

/** Lists the dotted names in a value that are neither known nor a parent of a known one. */
export function unknownNames(value: JsonObject, known: readonly string[], prefix = ''): readonly string[] {
  return Object.entries(value).flatMap(([key, member]) => {
    const name = `${prefix}${key}`;
    if (known.includes(name) || member === undefined) return [];
    const isParent = known.some((other) => other.startsWith(`${name}.`));
    return isParent && isObject(member) ? unknownNames(member, known, `${name}.`) : [name];
  });
}
