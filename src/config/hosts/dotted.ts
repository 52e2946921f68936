import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

/** The value under a dotted name. */
export function readDotted(value: JsonObject, name: string): Json | undefined {
  let found: Json | undefined = value;
  for (const step of name.split('.')) {
    found = isObject(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  }
  return found;
}

/** A copy with a value under a dotted name. */
export function writtenDotted(value: JsonObject, name: string, member: Json): JsonObject {
  const [first = '', ...rest] = name.split('.');
  if (rest.length === 0) return { ...value, [first]: member };
  const inner = value[first];
  return { ...value, [first]: writtenDotted(isObject(inner) ? inner : {}, rest.join('.'), member) };
}

/** The dotted names in a value that are neither among the known ones nor around one of them. */
export function unknownNames(value: JsonObject, known: readonly string[], prefix = ''): readonly string[] {
  return Object.entries(value).flatMap(([key, member]) => {
    const name = `${prefix}${key}`;
    if (known.includes(name) || member === undefined) return [];
    const around = known.some((one) => one.startsWith(`${name}.`));
    return around && isObject(member) ? unknownNames(member, known, `${name}.`) : [name];
  });
}
