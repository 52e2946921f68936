import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

/** The arguments that an input schema declares. */
export interface DeclaredArguments {
  readonly names: readonly string[];
  readonly required: readonly string[];
  /** True if the schema refuses other arguments. */
  readonly isClosed: boolean;
  /** Returns the schemas of an argument: several if branches of the input schema declare it. */
  schemasOf(name: string): readonly Json[];
}

/** Reads the arguments that a schema declares, in all its branches. `required` is that of the schema itself and its `allOf`. */
export function declaredArguments(root: Json | undefined): DeclaredArguments {
  const schemas = new Map<string, Json[]>();
  const others: Json[] = [];
  let isClosed = false;
  for (const { properties, additionalProperties, unevaluatedProperties, patternProperties } of branchesOf(root, root)) {
    for (const [name, schema] of Object.entries(isObject(properties) ? properties : {})) {
      if (schema !== undefined) append(schemas, name, schema);
    }
    const isRefusing = additionalProperties === false || unevaluatedProperties === false;
    isClosed ||= isRefusing && patternProperties === undefined;
    if (isObject(additionalProperties)) others.push(additionalProperties);
  }
  return {
    names: [...schemas.keys()],
    required: [...new Set(branchesOf(root, root, ['allOf']).flatMap(({ required }) => textsOf(required)))],
    isClosed,
    schemasOf: (name) => schemas.get(name) ?? others,
  };
}

function append(schemas: Map<string, Json[]>, name: string, schema: Json): void {
  const known = schemas.get(name);
  if (known) known.push(schema);
  else schemas.set(name, [schema]);
}

const textsOf = (value: Json | undefined): readonly string[] =>
  (Array.isArray(value) ? value : []).filter((one) => typeof one === 'string');

const ALTERNATIVES = ['allOf', 'anyOf', 'oneOf'] as const;

/** Returns a schema and the schemas that apply to the same value: by `$ref`, `allOf`, `anyOf` and `oneOf`. Each is listed once. */
export function branchesOf(
  root: Json | undefined,
  schema: Json | undefined,
  keywords: readonly string[] = ALTERNATIVES,
): readonly JsonObject[] {
  const found = new Set<JsonObject>();
  const open = [schema];
  while (open.length > 0) {
    const one = open.pop();
    if (!isObject(one) || found.has(one)) continue;
    found.add(one);
    for (const next of keywords.flatMap((keyword) => listOf(one[keyword])).reverse()) open.push(next);
    if (one.$ref !== undefined) open.push(resolveReference(root, one.$ref));
  }
  return [...found];
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

/** Returns the schema that a `$ref` into the same document names; undefined for any other reference. */
export function resolveReference(root: Json | undefined, ref: Json): Json | undefined {
  if (ref === '#') return root;
  if (typeof ref !== 'string' || !ref.startsWith('#/')) return undefined;
  let found = root;
  for (const part of ref.slice(2).split('/')) {
    const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    const holder: unknown = found;
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return undefined;
    found = (holder as JsonObject)[key];
  }
  return found;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const OBJECT_KEYWORDS = ['properties', 'required', 'additionalProperties'];
const ARRAY_KEYWORDS = ['items', 'prefixItems'];

/** Returns the types that a schema names itself. Without `type` they follow from its keywords; empty means any. */
export function typesOf(schema: JsonObject): readonly string[] {
  const { type } = schema;
  if (type !== undefined) return typeof type === 'string' ? [type] : textsOf(type);
  if (OBJECT_KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword))) return ['object'];
  return ARRAY_KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword)) ? ['array'] : [];
}
