import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { LISTS, MAPS, SCHEMAS } from './keywords.ts';

/** Resolves a local reference. Returns undefined when it points nowhere or leaves the document. */
export function follow(root: Json, reference: string): JsonObject | boolean | undefined {
  if (!reference.startsWith('#')) return undefined;
  const fragment = decoded(reference.slice(1));
  if (fragment === undefined) return undefined;
  const found = fragment === '' || fragment.startsWith('/') ? atPointer(root, fragment) : atAnchor(root, fragment);
  return typeof found === 'boolean' || isObject(found) ? found : undefined;
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function atPointer(root: Json, pointer: string): Json | undefined {
  let here: Json | undefined = root;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as JsonObject)[key];
  }
  return here;
}

function atAnchor(root: Json, anchor: string): Json | undefined {
  let found: Json | undefined;
  eachSchema(root, (schema) => {
    if (schema.$anchor === anchor || schema.$dynamicAnchor === anchor) found ??= schema;
  });
  return found;
}

/** Visits a 2020-12 schema and every schema inside it. */
export function eachSchema(schema: Json | undefined, visit: (schema: JsonObject) => void): void {
  if (!isObject(schema)) return;
  visit(schema);
  for (const [keyword, value] of Object.entries(schema)) {
    if (SCHEMAS.has(keyword)) eachSchema(value, visit);
    else if (LISTS.has(keyword)) for (const one of value as readonly Json[]) eachSchema(one, visit);
    else if (MAPS.has(keyword)) for (const one of Object.values(value as JsonObject)) eachSchema(one, visit);
  }
}

/** Replaces every schema inside a schema, innermost first. */
export function mapSchemas(schema: Json, change: (schema: JsonObject) => JsonObject): Json {
  if (!isObject(schema)) return schema;
  const inside = Object.entries(schema).map(([keyword, value]): [string, Json | undefined] => {
    if (SCHEMAS.has(keyword)) return [keyword, mapSchemas(value as Json, change)];
    if (LISTS.has(keyword)) return [keyword, (value as readonly Json[]).map((one) => mapSchemas(one, change))];
    if (!MAPS.has(keyword)) return [keyword, value];
    const named = Object.entries(value as JsonObject).map(([name, one]) => [name, mapSchemas(one as Json, change)]);
    return [keyword, Object.fromEntries(named)];
  });
  return change(Object.fromEntries(inside));
}
