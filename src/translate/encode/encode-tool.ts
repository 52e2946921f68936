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

/** What holds arguments that are not an object themselves. */
export const WRAP = 'input';

export interface EncodedInput {
  /** An object schema. */
  readonly schema: JsonObject;
  readonly definitions: JsonObject;
  toArguments(modelArguments: Json): Json;
}

/** The input schema of a tool, in a dialect that knows little of JSON Schema. */
export function encodeInput(schema: Json | undefined, dialect: Dialect, lose: AddLoss): EncodedInput {
  const at = '/inputSchema';
  // What a tool takes is an object even where its schema does not say so.
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

/** The shape when its arguments can be those of a call as they are. */
function asObject(root: Shape): ObjectShape | undefined {
  // A tool without a schema takes an object, as every tool does, and names nothing that it wants in there.
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
