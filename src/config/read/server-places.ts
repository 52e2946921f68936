import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { SourceLocation } from '../config.ts';
import type { Document, JsonPath } from './parse-document.ts';

/** Where each field of the entry at `at` is written, by its dotted name within the entry. */
export function serverPlaces(document: Document, at: JsonPath, written: Json): ReadonlyMap<string, SourceLocation> {
  return new Map(fieldsOf(written, []).map((path) => [path.join('.'), document.placeOf([...at, ...path], 'name')]));
}

function fieldsOf(value: Json | undefined, path: readonly string[]): readonly (readonly string[])[] {
  if (!isObject(value)) return [path];
  return Object.entries(value).flatMap(([key, item]) => fieldsOf(item, [...path, key]));
}
