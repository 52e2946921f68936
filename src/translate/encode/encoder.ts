import type { Json, JsonObject } from '../../core/call.ts';
import type { AddLoss, LossEffect } from '../loss.ts';
import { describeKeyword } from '../shape/read-notes.ts';
import type { Shapes } from '../shape/read-shape.ts';
import type { ArrayShape, NumberShape, Shape, StringShape } from '../shape/shape.ts';
import type { Code } from './code.ts';

/** The encodable part of a shape, and the losses of the rest. */
export interface Kept<S> {
  readonly schema: JsonObject;
  readonly shape: S;
  readonly dropped: readonly { readonly keyword: string; readonly value: Json; readonly effect: LossEffect }[];
}

/** The rules and limits of a dialect with few keywords. */
export interface Dialect {
  readonly nullMeansAbsent: boolean;
  readonly propertyName: RegExp;
  /** The limit of nested objects. */
  readonly maxDepth: number;
  readonly maxProperties: number;
  /** The limit of values in all enumerations together. */
  readonly maxEnumValues: number;
  /** The limit of characters in all names and listed values together. */
  readonly maxNameChars: number;
  /** Undefined if the dialect has no references: then each is written out, and recursion is cut. */
  readonly refer?: (name: string) => JsonObject;
  /** True if an object may have no properties. */
  readonly emptyObjects: boolean;
  string(shape: StringShape): Kept<StringShape>;
  number(shape: NumberShape): Kept<NumberShape>;
  typed(kind: 'boolean' | 'null' | 'string'): JsonObject;
  /** Returns undefined when the values cannot be listed unchanged and must be strings. */
  values(values: readonly Json[]): JsonObject | undefined;
  texts(texts: readonly string[]): JsonObject;
  list(items: JsonObject, shape: ArrayShape): JsonObject;
  object(properties: JsonObject, required: readonly string[]): JsonObject;
  union(members: readonly JsonObject[], nullable: boolean): JsonObject;
  annotate(schema: JsonObject, notes: { title?: string; description?: string }): JsonObject;
}

/** The depth and the references on the way to a shape. */
export interface EncodePath {
  readonly depth: number;
  /** References followed since the last object or array. Meeting one again is an endless recursion. */
  readonly immediate: readonly string[];
  readonly references: readonly string[];
}

export interface Encoder {
  readonly dialect: Dialect;
  readonly shapes: Shapes;
  readonly lose: AddLoss;
  readonly definitions: Map<string, { readonly name: string; code?: Code }>;
  parts: number;
  properties: number;
  values: number;
  characters: number;
  encode(shape: Shape, path: EncodePath): Code;
  text(shape: Shape, only: 'object' | 'anything'): Code;
}

/** Encodes the rest of a shape as JSON text, which nothing checks. */
export function cut(encoder: Encoder, shape: Shape, why: string): Code {
  encoder.lose(shape.at, shape.kind === 'reference' ? '$ref' : 'type', 'wider', `${why}; it is written as JSON text.`);
  return encoder.text(shape, 'anything');
}

/** Adds notes to a schema, and constraints that the dialect cannot express, as description. */
export function annotated(
  encoder: Encoder,
  schema: JsonObject,
  shape: Shape,
  words: readonly string[] = [],
): JsonObject {
  const { notes, at } = shape;
  const sentences = [...words];
  if (notes.default !== undefined) {
    encoder.lose(at, 'default', 'note', 'It is in the description only.');
    sentences.push(describeKeyword('default', notes.default));
  }
  if (notes.examples) encoder.lose(at, 'examples', 'note', 'The dialect has no place for them.');
  const description = [notes.description, ...sentences].filter((text) => text !== undefined).join(' ');
  return encoder.dialect.annotate(schema, {
    ...(notes.title !== undefined && { title: notes.title }),
    ...(description !== '' && { description }),
  });
}

export const inside = (path: EncodePath): EncodePath => ({ ...path, immediate: [] });

/** Returns the name, with a number appended if it is taken. */
export function freeName(name: string, taken: { has(name: string): boolean }): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}_${number}`;
  return free;
}
