import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { type AddLoss, below } from '../loss.ts';
import { closeShape } from './close-shape.ts';
import { eachSchema, follow } from './follow.ts';
import { type Intersect, intersectAll, intersection } from './intersect.ts';
import { notesOf } from './read-notes.ts';
import { type Reader, readTypes } from './read-types.ts';
import { anyAt, neverAt, type ReferenceShape, type ResolveShape, type Shape, unionAt } from './shape.ts';

export interface Shapes {
  readonly root: Shape;
  readonly resolve: ResolveShape;
  readonly intersect: Intersect;
}

const MAX_CHAIN = 64;
const ALL_TYPES = ['null', 'boolean', 'object', 'array', 'number', 'string'];

/** Reads a 2020-12 schema at the pointer `at`. `within` limits the types of its values. */
export function readShape(
  schema: JsonObject | boolean,
  { at, within }: { at: string; within?: readonly string[] },
  add: AddLoss,
): Shapes {
  const isExact = hasExclusive(schema);
  const lose: AddLoss = (pointer, keyword, effect, why) => {
    add(pointer, keyword, effect, why);
    if (isExact && effect === 'narrower')
      add(pointer, keyword, 'wider', 'Another alternative may seem the only match.');
  };
  const read = new Map<string, Shape>();
  const reading = new Set<string>();

  function resolve(reference: ReferenceShape): Shape {
    const known = read.get(reference.to);
    if (known) return known;
    const target = follow(schema, reference.to);
    if (target === undefined || reading.has(reference.to) || reading.size > MAX_CHAIN) {
      lose(reference.at, '$ref', 'wider', 'The reference depends on itself, or on too many others.');
      return anyAt(reference.at);
    }
    reading.add(reference.to);
    const shape = readSchema(target, `${at}${reference.to.slice(1)}`, undefined);
    // Resolves chains of references to their end, so that no caller gets a reference.
    const end = shape.kind === 'reference' ? resolve(shape) : shape;
    reading.delete(reference.to);
    read.set(reference.to, end);
    return end;
  }

  const intersect = intersection(resolve, lose);
  const reader: Reader = { read: readSchema, resolve, intersect, lose };

  function readSchema(one: Json | undefined, here: string, types: readonly string[] | undefined): Shape {
    if (one === false) return neverAt(here);
    if (!isObject(one)) return anyAt(here);
    const own = readTypes(one, here, types ?? (isExact ? ALL_TYPES : undefined), reader);
    const kinds = one.type === undefined ? types : [one.type as Json].flat().map(String);
    const inside = (keyword: string) =>
      ((one[keyword] ?? []) as readonly Json[]).map((part, at) => readSchema(part, below(here, keyword, at), kinds));
    const parts = [own, ...referenceIn(one, here), ...inside('allOf')];
    if (one.anyOf) parts.push(unionAt(below(here, 'anyOf'), inside('anyOf')));
    if (one.oneOf) parts.push(unionAt(below(here, 'oneOf'), inside('oneOf'), true));
    const whole = closeShape(intersectAll(parts, intersect, here), one, here, reader);
    return { ...whole, at: here, notes: { ...whole.notes, ...notesOf(one, here, lose) } };
  }

  function referenceIn(one: JsonObject, here: string): Shape[] {
    const to = one.$ref ?? one.$dynamicRef;
    if (typeof to !== 'string') return [];
    if (follow(schema, to) === undefined) {
      const reason = to.startsWith('#')
        ? 'It points nowhere.'
        : 'It points out of the document, and nothing is fetched.';
      lose(here, '$ref', 'wider', reason);
      return [];
    }
    return [{ kind: 'reference', to, at: here, notes: {} }];
  }

  return { root: readSchema(schema, at, within), resolve, intersect };
}

/**
 * Returns true when a schema has a `oneOf`. Narrowing one of its alternatives would make values valid that matched
 * two before, so types are not guessed then.
 */
function hasExclusive(schema: JsonObject | boolean): boolean {
  let found = false;
  eachSchema(schema, (one) => {
    found ||= one.oneOf !== undefined;
  });
  return found;
}
