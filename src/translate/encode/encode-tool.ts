import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { AddLoss } from '../loss.ts';
import { modernise } from '../shape/modernise.ts';
import { readShape } from '../shape/read-shape.ts';
import type { ObjectShape, Shape } from '../shape/shape.ts';
import { type Code, newEffort } from './code.ts';
import { newEncoder } from './encode.ts';
import { bareObject, encodeObject, encodeProperties } from './encode-object.ts';
import type { Dialect } from './encoder.ts';

/** The property that holds arguments that are no object themselves. */
export const WRAP = 'input';

export interface EncodedInput {
  /** A schema with type object. */
  readonly schema: JsonObject;
  readonly definitions: JsonObject;
  toArguments(modelArguments: Json): Json;
}

/** Encodes the input schema of a tool for a dialect with few keywords. */
export function encodeInput(schema: Json | undefined, dialect: Dialect, lose: AddLoss): EncodedInput {
  const at = '/inputSchema';
  // Tool arguments are an object even if the schema does not say so.
  const shapes = readShape(modernise(schema, at, lose), { at, within: ['object'] }, lose);
  const encoder = newEncoder(dialect, shapes, lose);
  const root = shapes.root.kind === 'reference' ? shapes.resolve(shapes.root) : shapes.root;
  const path = { depth: 1, immediate: [], references: [] };
  const object = asObject(root);
  const code: Code = object
    ? isEmpty(object)
      ? encodeProperties(encoder, object, path)
      : encodeObject(encoder, object, path)
    : encodeProperties(encoder, wrapped(root), path);
  const definitions = [...encoder.definitions.values()].map(
    ({ name, code: one }) => [name, one?.schema ?? {}] as const,
  );
  return {
    schema: code.schema,
    definitions: Object.fromEntries(definitions),
    toArguments(modelArguments) {
      const decoded = code.decode(modelArguments, newEffort());
      return object || !isObject(decoded) ? decoded : (decoded[WRAP] ?? null);
    },
  };
}

/** Returns the shape if its values can be call arguments without a wrapper. */
function asObject(root: Shape): ObjectShape | undefined {
  // A tool without a schema takes any object, and names no property.
  if (root.kind === 'any') return { ...bareObject(root.at), notes: root.notes, silent: true };
  if (root.kind !== 'object') return undefined;
  return isEmpty(root) || [...root.properties.values()].some(({ shape }) => shape.kind !== 'never') ? root : undefined;
}

const isEmpty = (shape: ObjectShape) =>
  shape.properties.size === 0 &&
  !shape.minProperties &&
  shape.patterns.length === 0 &&
  (shape.rest.kind === 'never' || (shape.silent && shape.rest.kind === 'any'));

const wrapped = (root: Shape): ObjectShape => ({
  ...bareObject(root.at),
  properties: new Map([[WRAP, { shape: root, required: true }]]),
});
