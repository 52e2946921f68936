import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';

const MAX_DEPTH = 4;

/** Returns the smallest input that a schema seems to accept: its required properties with descriptive values. */
export function exampleOf(schema: Json | undefined, depth = 0): Json {
  if (!isObject(schema) || depth > MAX_DEPTH) return {};
  const listed = schema.const ?? schema.default ?? first(schema.examples) ?? first(schema.enum);
  if (listed !== undefined) return listed;
  const type = Array.isArray(schema.type) ? first(schema.type) : schema.type;
  switch (type) {
    case 'string':
      return 'text';
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' ? schema.minimum : 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return [exampleOf(schema.items, depth + 1)];
    default:
      return requiredParts(schema, depth);
  }
}

function requiredParts({ properties, required }: JsonObject, depth: number): JsonObject {
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  const parts = isObject(properties) ? properties : {};
  // Removes repeated names. Lists that repeat a name at every level would multiply the work.
  const texts = new Set(names.filter((name): name is string => typeof name === 'string'));
  return Object.fromEntries([...texts].map((name) => [name, exampleOf(parts[name], depth + 1)]));
}

const first = (value: Json | undefined): Json | undefined => (Array.isArray(value) ? value[0] : undefined);
