import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type AddLoss, below } from '../loss.ts';
import { isWellFormed, LISTS, MAPS, SCHEMAS, TYPES } from './keywords.ts';

const MAX_DEPTH = 48;
const MAX_PARTS = 5_000;

interface Walk {
  readonly lose: AddLoss;
  parts: number;
}

type Schema = JsonObject | boolean;

/**
 * Converts an untrusted schema to finite JSON Schema 2020-12. Rewrites older drafts; removes and lists what is
 * malformed, too deep or too large.
 */
export function modernise(schema: Json | undefined, at: string, lose: AddLoss): Schema {
  return toSchema(schema, at, 0, { lose, parts: 0 });
}

function toSchema(schema: Json | undefined, at: string, depth: number, walk: Walk): Schema {
  if (typeof schema === 'boolean') return schema;
  if (!isObject(schema)) {
    if (schema !== undefined) walk.lose(at, 'schema', 'wider', 'It is not a schema.');
    return true;
  }
  if (depth > MAX_DEPTH || ++walk.parts > MAX_PARTS) {
    walk.lose(at, 'schema', 'wider', 'The schema is too deep or too large from here on.');
    return true;
  }
  const entries = Object.entries(upgraded(schema));
  return Object.fromEntries(
    entries.flatMap(([keyword, value]) => {
      const kept = toKeyword(keyword, value, { at: below(at, keyword), depth, walk });
      if (kept === undefined && value !== undefined && !DROPPED.has(keyword)) {
        walk.lose(at, keyword, 'wider', 'It is malformed.');
      }
      return kept === undefined ? [] : [[keyword, kept]];
    }),
  );
}

// Keywords that identify a schema and would change the meaning of `#`. All references are local by then.
const DROPPED = new Set(['$schema', '$id', 'id', '$vocabulary', 'definitions', 'dependencies', 'additionalItems']);

interface Place {
  readonly at: string;
  readonly depth: number;
  readonly walk: Walk;
}

function toKeyword(keyword: string, value: Json | undefined, { at, depth, walk }: Place): Json | undefined {
  if (DROPPED.has(keyword)) return undefined;
  if (SCHEMAS.has(keyword)) return toSchema(value, at, depth + 1, walk);
  if (LISTS.has(keyword)) {
    if (!Array.isArray(value) || value.length === 0) return undefined;
    return value.map((one: Json, index) => toSchema(one, below(at, index), depth + 1, walk));
  }
  if (MAPS.has(keyword)) {
    if (!isObject(value)) return undefined;
    const entries = Object.entries(value);
    const kept = entries.slice(0, Math.max(0, MAX_PARTS - walk.parts));
    if (kept.length < entries.length) walk.lose(at, keyword, 'wider', `Only the first ${kept.length} fit in.`);
    return Object.fromEntries(kept.map(([name, one]) => [name, toSchema(one, below(at, name), depth + 1, walk)]));
  }
  return isWellFormed(keyword, value) ? plainCopy(value, depth, walk) : undefined;
}

/** Copies a value up to the limits of depth and size. */
function plainCopy(value: Json | undefined, depth: number, walk: Walk): Json | undefined {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH || ++walk.parts > MAX_PARTS) return undefined;
  if (Array.isArray(value)) return value.map((one: Json) => plainCopy(one, depth + 1, walk) ?? null);
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, one]) => [key, plainCopy(one, depth + 1, walk)]),
  );
}

function upgraded(schema: JsonObject): JsonObject {
  let { ...next }: { [key: string]: Json | undefined } = schema;
  if (Array.isArray(next.items)) {
    const { items, additionalItems, ...others } = next;
    next = { ...others, ...(items.length > 0 && { prefixItems: items }), items: additionalItems };
    if (next.items === undefined) delete next.items;
  }
  if (isObject(next.definitions)) {
    next.$defs = { ...next.definitions, ...(isObject(next.$defs) ? next.$defs : {}) };
  }
  if (isObject(next.dependencies)) next = { ...next, ...splitDependencies(next.dependencies) };
  next = withNumericBound(withNumericBound(next, 'exclusiveMinimum', 'minimum'), 'exclusiveMaximum', 'maximum');
  if (next.nullable === true && next.type !== undefined) {
    next.type = [...new Set([next.type as Json, 'null'].flat())] as Json;
  }
  delete next.nullable;
  if (typeof next.type === 'string' && !TYPES.has(next.type))
    next.type = ANY_SPELLINGS.has(next.type) ? undefined : next.type;
  if (typeof next.$ref === 'string') next.$ref = next.$ref.replace(/^#\/definitions\//, '#/$defs/');
  return next;
}

const ANY_SPELLINGS = new Set(['any', 'mixed']);

function splitDependencies(dependencies: JsonObject): JsonObject {
  const entries = Object.entries(dependencies);
  const names = entries.filter(([, value]) => Array.isArray(value));
  const schemas = entries.filter(([, value]) => !Array.isArray(value));
  return {
    ...(names.length > 0 && { dependentRequired: Object.fromEntries(names) }),
    ...(schemas.length > 0 && { dependentSchemas: Object.fromEntries(schemas) }),
  };
}

// In draft 4 exclusiveMinimum and exclusiveMaximum are booleans.
function withNumericBound(
  schema: JsonObject,
  exclusive: string,
  inclusive: string,
): { [key: string]: Json | undefined } {
  if (typeof schema[exclusive] !== 'boolean') return { ...schema };
  const { [exclusive]: isExclusive, [inclusive]: bound, ...others } = schema;
  if (bound === undefined) return others;
  return { ...others, [isExclusive ? exclusive : inclusive]: bound };
}
