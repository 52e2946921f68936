import type { Json, JsonObject } from '../../core/call.ts';
import { type AddLoss, below } from '../loss.ts';
import { acceptsValue, shapesOf } from './accepts-value.ts';
import { type Intersect, settledArray, settledObject } from './intersect.ts';
import { linearPattern } from './linear-pattern.ts';
import {
  type ArrayShape,
  anyAt,
  neverAt,
  type ObjectShape,
  type Property,
  type ResolveShape,
  type Shape,
  unionAt,
} from './shape.ts';

export interface Reader {
  read(schema: Json | undefined, at: string, within: readonly string[] | undefined): Shape;
  readonly resolve: ResolveShape;
  readonly intersect: Intersect;
  readonly lose: AddLoss;
}

const FAMILIES: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  [
    'object',
    [
      'properties',
      'required',
      'additionalProperties',
      'patternProperties',
      'propertyNames',
      'minProperties',
      'maxProperties',
      'unevaluatedProperties',
    ],
  ],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'unevaluatedItems']],
  ['string', ['minLength', 'maxLength', 'pattern', 'format']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];

/** Reads the types, values and type-specific keywords of a schema. */
export function readTypes(
  schema: JsonObject,
  at: string,
  within: readonly string[] | undefined,
  reader: Reader,
): Shape {
  const types = typesOf(schema, at, within, reader.lose);
  const typed = types
    ? unionAt(
        at,
        types.map((type) => readType(type, schema, at, reader)),
      )
    : anyAt(at);
  const values = valuesOf(schema);
  return values ? reader.intersect({ kind: 'enum', at, notes: {}, values }, typed) : typed;
}

function valuesOf({ const: value, enum: values }: JsonObject): readonly Json[] | undefined {
  if (value !== undefined) return [value];
  return values as readonly Json[] | undefined;
}

function typesOf(
  { type, ...schema }: JsonObject,
  at: string,
  within: readonly string[] | undefined,
  lose: AddLoss,
): readonly string[] | undefined {
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type.filter((one) => one !== 'integer' || !type.includes('number'));
  const hinted = FAMILIES.filter(([, keywords]) => keywords.some((keyword) => schema[keyword] !== undefined));
  if (hinted.length === 0) return undefined;
  // A keyword of another type than the declared one has no effect.
  if (within) return within;
  const names = hinted.map(([name]) => name);
  lose(at, 'type', 'narrower', `It names no type, and is taken to be ${names.join(' or ')}.`);
  return names;
}

function readType(type: string, schema: JsonObject, at: string, reader: Reader): Shape {
  const place = { at, notes: {} };
  switch (type) {
    case 'null':
    case 'boolean':
      return { kind: type, ...place };
    case 'string': {
      const { pattern } = schema;
      const patterns = typeof pattern === 'string' && linearPattern(pattern) ? [pattern] : [];
      return { kind: 'string', ...place, ...picked(schema, ['minLength', 'maxLength', 'format']), patterns };
    }
    case 'number':
    case 'integer':
      return {
        kind: 'number',
        ...place,
        ...picked(schema, ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'format']),
        integer: type === 'integer' || (typeof schema.multipleOf === 'number' && Number.isInteger(schema.multipleOf)),
        multiplesOf: typeof schema.multipleOf === 'number' && schema.multipleOf !== 1 ? [schema.multipleOf] : [],
      };
    case 'array':
      return readArray(schema, at, reader);
    default:
      return readObject(schema, at, reader);
  }
}

const picked = (schema: JsonObject, keywords: readonly string[]): object =>
  Object.fromEntries(keywords.flatMap((key) => (schema[key] === undefined ? [] : [[key, schema[key]]])));

function readArray(schema: JsonObject, at: string, { read }: Reader): Shape {
  const prefix = (schema.prefixItems ?? []) as readonly Json[];
  const array: ArrayShape = {
    kind: 'array',
    at,
    notes: {},
    ...picked(schema, ['minItems', 'maxItems']),
    prefix: prefix.map((one, index) => read(one, below(at, 'prefixItems', index), undefined)),
    items: read(schema.items, below(at, 'items'), undefined),
    uniqueItems: schema.uniqueItems === true,
  };
  return settledArray(array);
}

function readObject(schema: JsonObject, at: string, reader: Reader): Shape {
  const { read, lose } = reader;
  const patterns = Object.entries((schema.patternProperties ?? {}) as JsonObject).flatMap(([source, one]) => {
    if (linearPattern(source)) return [{ source, shape: read(one, below(at, 'patternProperties', source), undefined) }];
    lose(at, 'patternProperties', 'wider', `${source} cannot be matched in linear time.`);
    return [];
  });
  const { propertyNames } = schema;
  const bare: ObjectShape = {
    kind: 'object',
    at,
    notes: {},
    ...picked(schema, ['minProperties', 'maxProperties']),
    properties: new Map(),
    patterns,
    rest: read(schema.additionalProperties, below(at, 'additionalProperties'), undefined),
    silent: schema.additionalProperties === undefined && patterns.length === 0,
    ...(propertyNames !== undefined && { names: read(propertyNames, below(at, 'propertyNames'), ['string']) }),
  };
  return settledObject({ ...bare, properties: readProperties(schema, bare, reader) });
}

function readProperties(
  schema: JsonObject,
  bare: ObjectShape,
  { read, resolve, intersect }: Reader,
): Map<string, Property> {
  const declared = (schema.properties ?? {}) as JsonObject;
  const required = new Set((schema.required ?? []) as readonly string[]);
  const properties = new Map<string, Property>();
  for (const name of new Set([...Object.keys(declared), ...required])) {
    const isDeclared = Object.hasOwn(declared, name);
    const own = isDeclared ? read(declared[name], below(bare.at, 'properties', name), undefined) : anyAt(bare.at);
    // `additionalProperties` applies to names that neither `properties` nor a pattern matches.
    const others = shapesOf(bare, name).filter((shape) => !isDeclared || shape !== bare.rest);
    const allowed = bare.names === undefined || acceptsValue(bare.names, name, resolve);
    const shape = allowed ? others.reduce((all, next) => intersect(all, next), own) : neverAt(own.at);
    properties.set(name, { required: required.has(name), shape });
  }
  return properties;
}
