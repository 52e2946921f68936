import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';

// Where a schema may hold others that count. What only defines (`$defs`) counts once something refers to it.
const HOLDERS = [
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies'],
  ...['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items', 'contains', 'unevaluatedItems'],
  ...['additionalProperties', 'propertyNames', 'unevaluatedProperties', 'not', 'if', 'then', 'else'],
];
const LISTS_OF_SCHEMAS = new Set(HOLDERS.slice(0, 4));
// Names that references may use instead of a path: only the compiler follows those.
const NAMES = /"(\$id|id|\$anchor|\$dynamicAnchor)":"/;

/**
 * Why the references of a schema cannot work: one leads out of it, to nothing or
 * back to itself. Nothing is fetched. Silent where only the compiler can tell.
 */
export function brokenReference(schema: JsonObject): string | undefined {
  const { $id: own, ...rest } = schema;
  const text = JSON.stringify(rest);
  if (!text.includes('"$ref"') || NAMES.test(text)) return undefined;
  const seen = new Set<JsonObject>();
  const checked = new Set<JsonObject>();
  const waiting: JsonObject[] = [schema];
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    if (seen.has(one)) continue;
    seen.add(one);
    const found = isOwn(one.$ref, own) ? undefined : followed(schema, one, checked);
    if (typeof found === 'string') return found;
    waiting.push(...(found ? [found] : []), ...heldBy(one));
  }
  return undefined;
}

const isOwn = (reference: unknown, own: unknown) =>
  typeof own === 'string' && typeof reference === 'string' && reference.startsWith(own);

/**
 * The first thing on the way of a reference that is more than a reference; or what is wrong with the way.
 * Stops at a reference that was followed before: each link of a chain is followed once.
 */
function followed(schema: JsonObject, from: JsonObject, checked: Set<JsonObject>): JsonObject | string | undefined {
  const way = new Set<JsonObject>();
  let here = from;
  while (typeof here.$ref === 'string') {
    if (way.has(here)) return `the reference ${shown(here.$ref)} leads only back to itself`;
    if (checked.has(here)) return undefined;
    way.add(here);
    checked.add(here);
    const found = pointerTarget(schema, here.$ref);
    if (typeof found === 'boolean') return undefined;
    if (found === undefined && !here.$ref.startsWith('#')) {
      return `the reference ${shown(here.$ref)} leads out of it, and nothing is fetched`;
    }
    if (!isObject(found)) return `the reference ${shown(here.$ref)} leads to nothing`;
    here = found;
  }
  return here;
}

function pointerTarget(schema: JsonObject, reference: string): Json | undefined {
  if (reference === '#') return schema;
  if (!reference.startsWith('#/')) return undefined;
  let here: Json | undefined = schema;
  for (const step of reference.slice(2).split('/').map(decoded)) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as JsonObject)[step];
  }
  return here;
}

function decoded(step: string): string {
  let plain = step;
  try {
    plain = decodeURIComponent(step);
  } catch {} // As it stands: a lone % is no code.
  return plain.replaceAll('~1', '/').replaceAll('~0', '~');
}

function heldBy(schema: JsonObject): JsonObject[] {
  return HOLDERS.flatMap((keyword) => {
    const held = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
    if (Array.isArray(held)) return held.filter(isObject);
    if (!isObject(held)) return [];
    return LISTS_OF_SCHEMAS.has(keyword) ? Object.values(held).filter(isObject) : [held];
  });
}

const shown = (reference: string) => JSON.stringify(reference.length > 60 ? `${reference.slice(0, 60)}…` : reference);
