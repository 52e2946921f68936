import type { Json, JsonObject } from '../../core/call.ts';
import type { AddLoss, LossEffect } from '../loss.ts';
import { inWords } from '../shape/read-notes.ts';
import type { Shapes } from '../shape/read-shape.ts';
import type { ArrayShape, NumberShape, Shape, StringShape } from '../shape/shape.ts';
import type { Code } from './code.ts';

/** What could be kept of a shape, and what not. */
export interface Kept<S> {
  readonly schema: JsonObject;
  readonly shape: S;
  readonly dropped: readonly { readonly keyword: string; readonly value: Json; readonly effect: LossEffect }[];
}

/** How a dialect that knows little of JSON Schema writes what it knows. */
export interface Dialect {
  readonly nullMeansAbsent: boolean;
  readonly propertyName: RegExp;
  /** Objects inside one another. */
  readonly maxDepth: number;
  readonly maxProperties: number;
  /** Values that all enumerations list together. */
  readonly maxEnumValues: number;
  /** Characters of all names and listed values together. */
  readonly maxNameChars: number;
  /** Undefined where there are no references: then each is written out, and recursion is cut. */
  readonly refer?: (name: string) => JsonObject;
  /** Whether an object may have no properties. */
  readonly emptyObjects: boolean;
  string(shape: StringShape): Kept<StringShape>;
  number(shape: NumberShape): Kept<NumberShape>;
  typed(kind: 'boolean' | 'null' | 'string'): JsonObject;
  /** Undefined when the values cannot be listed as they are, and have to be texts. */
  values(values: readonly Json[]): JsonObject | undefined;
  texts(texts: readonly string[]): JsonObject;
  list(items: JsonObject, shape: ArrayShape): JsonObject;
  object(properties: JsonObject, required: readonly string[]): JsonObject;
  union(members: readonly JsonObject[], nullable: boolean): JsonObject;
  annotate(schema: JsonObject, notes: { title?: string; description?: string }): JsonObject;
}

/** How far in, and by which way. */
export interface EncodePath {
  readonly depth: number;
  /** References followed since the last object or array: meeting one again would lead nowhere. */
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

/** Everything from here on as JSON text: it can still be said, but nothing checks it. */
export function cut(encoder: Encoder, shape: Shape, why: string): Code {
  encoder.lose(shape.at, shape.kind === 'reference' ? '$ref' : 'type', 'wider', `${why}; it is written as JSON text.`);
  return encoder.text(shape, 'anything');
}

/** The schema with what it tells its reader, and what could not be said otherwise, in words. */
export function annotated(
  encoder: Encoder,
  schema: JsonObject,
  shape: Shape,
  words: readonly string[] = [],
): JsonObject {
  const { notes, at } = shape;
  const told = [...words];
  if (notes.default !== undefined) {
    encoder.lose(at, 'default', 'note', 'It is told in words only.');
    told.push(inWords('default', notes.default));
  }
  if (notes.examples) encoder.lose(at, 'examples', 'note', 'The dialect has no place for them.');
  const description = [notes.description, ...told].filter((text) => text !== undefined).join(' ');
  return encoder.dialect.annotate(schema, {
    ...(notes.title !== undefined && { title: notes.title }),
    ...(description !== '' && { description }),
  });
}

export const inside = (path: EncodePath): EncodePath => ({ ...path, immediate: [] });

/** The name itself, or with the first number that makes it one of its own. */
export function freeName(name: string, taken: { has(name: string): boolean }): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}_${number}`;
  return free;
}
