import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { pointerTarget } from './json-pointer.ts';

// Keywords whose value is or contains a schema that always applies. Schemas in `$defs` apply once a `$ref` names them.
const APPLICATORS = [
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies'],
  ...['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items', 'contains', 'unevaluatedItems'],
  ...['additionalProperties', 'propertyNames', 'unevaluatedProperties', 'not', 'if', 'then', 'else'],
];
const LISTS_OF_SCHEMAS = new Set(APPLICATORS.slice(0, 4));
// Keywords that define names for references. Only the compiler resolves references by name.
const NAMES = /"(\$id|id|\$anchor|\$dynamicAnchor)":"/;

/**
 * Returns why a reference of a schema cannot be resolved: it leaves the schema, points at nothing or at itself.
 * Fetches nothing. Returns undefined where only the compiler can decide.
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
    const found = isOwn(one.$ref, own) ? undefined : resolveChain(schema, one, checked);
    if (typeof found === 'string') return found;
    waiting.push(...(found ? [found] : []), ...subschemasOf(one));
  }
  return undefined;
}

const isOwn = (reference: unknown, own: unknown) =>
  typeof own === 'string' && typeof reference === 'string' && reference.startsWith(own);

/**
 * Returns the first schema behind a chain of references that is no bare reference, or the error of the chain.
 * Stops at a reference that was checked before, so that each link of a chain is followed once.
 */
function resolveChain(schema: JsonObject, from: JsonObject, checked: Set<JsonObject>): JsonObject | string | undefined {
  const chain = new Set<JsonObject>();
  let here = from;
  while (typeof here.$ref === 'string') {
    if (chain.has(here)) return `the reference ${shown(here.$ref)} leads only back to itself`;
    if (checked.has(here)) return undefined;
    chain.add(here);
    checked.add(here);
    const found = referenceTarget(schema, here.$ref);
    if (typeof found === 'boolean') return undefined;
    if (found === undefined && !here.$ref.startsWith('#')) {
      return `the reference ${shown(here.$ref)} leads out of it, and nothing is fetched`;
    }
    if (!isObject(found)) return `the reference ${shown(here.$ref)} leads to nothing`;
    here = found;
  }
  return here;
}

/** Finds the target of a reference inside the schema; undefined for a reference that is no pointer. */
function referenceTarget(schema: JsonObject, reference: string): Json | undefined {
  return reference === '#' || reference.startsWith('#/') ? pointerTarget(schema, reference.slice(1)) : undefined;
}

function subschemasOf(schema: JsonObject): JsonObject[] {
  return APPLICATORS.flatMap((keyword) => {
    const value = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
    if (Array.isArray(value)) return value.filter(isObject);
    if (!isObject(value)) return [];
    return LISTS_OF_SCHEMAS.has(keyword) ? Object.values(value).filter(isObject) : [value];
  });
}

const shown = (reference: string) => JSON.stringify(reference.length > 60 ? `${reference.slice(0, 60)}…` : reference);
