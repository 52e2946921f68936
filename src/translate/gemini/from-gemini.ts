import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type AddLoss, below, lossBook, type Translated } from '../loss.ts';
import { type McpTool, toMcp } from '../tool.ts';

const MAX_DEPTH = 48;
const COUNTS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties']);
const KEPT = new Set(['title', 'description', 'pattern', 'minimum', 'maximum', 'default', 'required', 'enum']);
const CARRIED = new Set(['name', 'description', 'parameters', 'parametersJsonSchema']);

/** Converts a function declaration of Gemini to an MCP tool. */
export function fromGemini(declaration: JsonObject): Translated<McpTool> {
  const { add, all } = lossBook();
  for (const key of Object.keys(declaration)) {
    if (!CARRIED.has(key)) add(`/${key}`, key, 'note', 'MCP has no place for it.');
  }
  const { name, description, parameters, parametersJsonSchema } = declaration as { [key: string]: Json };
  // A declaration may contain JSON Schema instead of the dialect.
  const schema = isObject(parameters) ? toJsonSchema(parameters, '/parameters', 0, add) : parametersJsonSchema;
  return { value: toMcp({ name, description, schema } as Parameters<typeof toMcp>[0]), lost: all() };
}

function toJsonSchema(schema: JsonObject, at: string, depth: number, lose: AddLoss): JsonObject {
  if (depth > MAX_DEPTH) {
    lose(at, 'schema', 'wider', 'The schema is too deep from here on.');
    return {};
  }
  const inner = (value: Json | undefined, ...steps: readonly (string | number)[]): JsonObject =>
    isObject(value) ? toJsonSchema(value, below(at, ...steps), depth + 1, lose) : {};
  const entries = Object.entries(schema).flatMap(([keyword, value]): [string, Json | undefined][] => {
    if (keyword === 'items') return [[keyword, inner(value, keyword)]];
    if (keyword === 'anyOf' && Array.isArray(value)) {
      return [[keyword, value.map((one: Json, index) => inner(one, keyword, index))]];
    }
    if (keyword === 'properties' && isObject(value)) return [[keyword, ordered(value, schema, inner)]];
    if (keyword === 'example') return [['examples', [value as Json]]];
    return toKeyword(keyword, value, at, lose);
  });
  const plain = Object.fromEntries(entries);
  return schema.nullable === true ? nullable(plain) : plain;
}

type Inner = (value: Json | undefined, ...steps: readonly (string | number)[]) => JsonObject;

function ordered(properties: JsonObject, { propertyOrdering }: JsonObject, inner: Inner): JsonObject {
  const first = Array.isArray(propertyOrdering) ? propertyOrdering.map(String) : [];
  const known = first.filter((name) => Object.hasOwn(properties, name));
  const names = new Set([...known, ...Object.keys(properties)]);
  return Object.fromEntries([...names].map((name) => [name, inner(properties[name], 'properties', name)]));
}

function toKeyword(keyword: string, value: Json | undefined, at: string, lose: AddLoss): [string, Json | undefined][] {
  if (keyword === 'type') return value === 'TYPE_UNSPECIFIED' ? [] : [[keyword, String(value).toLowerCase()]];
  if (COUNTS.has(keyword)) return [[keyword, Number(value)]];
  if (KEPT.has(keyword)) return [[keyword, value]];
  if (keyword === 'format') return value === 'enum' ? [] : [[keyword, value]];
  if (keyword !== 'nullable' && keyword !== 'propertyOrdering') {
    lose(at, keyword, 'note', 'It is no keyword of the dialect.');
  }
  return [];
}

function nullable(schema: JsonObject): JsonObject {
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  if (schema.type === undefined || schema.type === 'null') return schema;
  return {
    ...schema,
    type: [schema.type as string, 'null'],
    ...(Array.isArray(schema.enum) && { enum: [...schema.enum, null] }),
  };
}
