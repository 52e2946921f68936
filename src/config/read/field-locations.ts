import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { SourceLocation } from '../config.ts';
import type { Document, JsonPath } from '../document.ts';

/** Returns the location of each field of the entry at `at`, by its dotted name within the entry. */
export function fieldLocations(document: Document, at: JsonPath, written: Json): ReadonlyMap<string, SourceLocation> {
  return new Map(fieldsOf(written, []).map((path) => [path.join('.'), document.locate([...at, ...path], 'name')]));
}

function fieldsOf(value: Json | undefined, path: readonly string[]): readonly (readonly string[])[] {
  if (!isObject(value)) return [path];
  return Object.entries(value).flatMap(([key, item]) => fieldsOf(item, [...path, key]));
}
