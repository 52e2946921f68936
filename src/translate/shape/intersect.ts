import type { Json } from '../../core/call.ts';
import type { AddLoss } from '../loss.ts';
import { acceptsValue, shapesOf } from './accepts-value.ts';
import {
  type ArrayShape,
  anyAt,
  type NumberShape,
  neverAt,
  type ObjectShape,
  type Property,
  type ResolveShape,
  type Shape,
  type StringShape,
  unionAt,
} from './shape.ts';

const MAX_DEPTH = 24;
const MAX_STEPS = 10_000;
const MAX_MEMBERS = 64;

/** Merges two shapes into the shape of values that match both. */
export type Intersect = (one: Shape, other: Shape, depth?: number) => Shape;

export function intersection(resolve: ResolveShape, lose: AddLoss): Intersect {
  let steps = 0;

  function intersect(one: Shape, other: Shape, depth = 0): Shape {
    if (other.kind === 'any' || one.kind === 'never') return one;
    if (one.kind === 'any' || other.kind === 'never') return { ...other, notes: { ...other.notes, ...one.notes } };
    if (one.kind === 'reference' && other.kind === 'reference' && one.to === other.to) return one;
    if (depth > MAX_DEPTH || ++steps > MAX_STEPS) {
      lose(other.at, 'allOf', 'wider', 'Two recursive or very large schemas cannot be made into one.');
      return one;
    }
    const inner: Intersect = (a, b) => intersect(a, b, depth + 1);
    return withEnum(one, other) ?? withReference(one, other, inner) ?? withUnion(one, other, inner);
  }

  function withEnum(one: Shape, other: Shape): Shape | undefined {
    if (one.kind === 'enum') return withValues(one, (value) => acceptsValue(other, value, resolve));
    if (other.kind !== 'enum') return undefined;
    return withValues({ ...other, notes: one.notes }, (value) => acceptsValue(one, value, resolve));
  }

  function withReference(one: Shape, other: Shape, inner: Intersect): Shape | undefined {
    if (one.kind === 'reference') return inner({ ...resolve(one), at: one.at, notes: one.notes }, other);
    return other.kind === 'reference' ? inner(one, resolve(other)) : undefined;
  }

  function withUnion(one: Shape, other: Shape, inner: Intersect): Shape {
    if (one.kind === 'union') return spread(one, other, (member) => inner(member, other));
    if (other.kind === 'union') return { ...spread(other, one, (member) => inner(one, member)), notes: one.notes };
    return sameKind(one, other, inner);
  }

  function spread(union: Extract<Shape, { kind: 'union' }>, other: Shape, meet: (member: Shape) => Shape): Shape {
    if (other.kind === 'union' && countMembers(union) * countMembers(other) > MAX_MEMBERS) {
      lose(other.at, 'allOf', 'wider', 'The combinations of alternatives are too many to be listed.');
      return union;
    }
    return { ...unionAt(union.at, union.of.map(meet), union.exclusive), notes: union.notes };
  }

  function sameKind(one: Shape, other: Shape, inner: Intersect): Shape {
    if (one.kind !== other.kind) return neverAt(one.at);
    if (one.kind === 'string') return strings(one, other as StringShape, lose);
    if (one.kind === 'number') return numbers(one, other as NumberShape);
    if (one.kind === 'array') return arrays(one, other as ArrayShape, inner);
    if (one.kind === 'object') {
      if (one.patterns.length > 0 && (other as ObjectShape).patterns.length > 0) {
        lose(other.at, 'patternProperties', 'narrower', 'A name has to be what all its patterns and the rest ask for.');
      }
      return objects(one, other as ObjectShape, inner);
    }
    return one;
  }

  return intersect;
}

function withValues(shape: Extract<Shape, { kind: 'enum' }>, isKept: (value: Json) => boolean): Shape {
  const values = shape.values.filter(isKept);
  return values.length === 0 ? neverAt(shape.at) : { ...shape, values };
}

/** Counts the members of nested unions together. */
const countMembers = (shape: Shape): number =>
  shape.kind === 'union' ? shape.of.reduce((sum, member) => sum + countMembers(member), 0) : 1;

type Bounds = { readonly [key: string]: unknown };

/** Returns the tighter of each pair of bounds, without undefined ones. */
function tighter(
  one: Bounds,
  other: Bounds,
  pick: { largest: readonly string[]; smallest: readonly string[] },
): object {
  const entries = (keys: readonly string[], choose: (...values: number[]) => number) =>
    keys.flatMap((key) => {
      const bounds = [one[key], other[key]].filter((value) => typeof value === 'number');
      return bounds.length === 0 ? [] : [[key, choose(...bounds)] as const];
    });
  return Object.fromEntries([...entries(pick.largest, Math.max), ...entries(pick.smallest, Math.min)]);
}

function strings(one: StringShape, other: StringShape, lose: AddLoss): Shape {
  if (one.format && other.format && one.format !== other.format) {
    lose(other.at, 'format', 'note', `It has to be ${one.format} as well, and only one can be said.`);
  }
  const format = one.format ?? other.format;
  const merged: StringShape = {
    ...one,
    ...tighter({ ...one }, { ...other }, { largest: ['minLength'], smallest: ['maxLength'] }),
    patterns: [...new Set([...one.patterns, ...other.patterns])],
    ...(format && { format }),
  };
  return (merged.minLength ?? 0) > (merged.maxLength ?? Number.POSITIVE_INFINITY) ? neverAt(one.at) : merged;
}

function numbers(one: NumberShape, other: NumberShape): Shape {
  const format = one.format ?? other.format;
  return {
    ...one,
    ...tighter(
      { ...one },
      { ...other },
      {
        largest: ['minimum', 'exclusiveMinimum'],
        smallest: ['maximum', 'exclusiveMaximum'],
      },
    ),
    integer: one.integer || other.integer,
    multiplesOf: [...new Set([...one.multiplesOf, ...other.multiplesOf])],
    ...(format && { format }),
  };
}

function arrays(one: ArrayShape, other: ArrayShape, inner: Intersect): Shape {
  const length = Math.max(one.prefix.length, other.prefix.length);
  const prefix = Array.from({ length }, (_, at) => inner(one.prefix[at] ?? one.items, other.prefix[at] ?? other.items));
  return settledArray({
    ...one,
    ...tighter({ ...one }, { ...other }, { largest: ['minItems'], smallest: ['maxItems'] }),
    prefix,
    items: inner(one.items, other.items),
    uniqueItems: one.uniqueItems || other.uniqueItems,
  });
}

/** Ends an array before the first item that no value matches. */
export function settledArray(shape: ArrayShape): Shape {
  const at = shape.prefix.findIndex(({ kind }) => kind === 'never');
  const end = at >= 0 ? at : shape.items.kind === 'never' ? shape.prefix.length : Number.POSITIVE_INFINITY;
  const maxItems = Math.min(shape.maxItems ?? Number.POSITIVE_INFINITY, end);
  if ((shape.minItems ?? 0) > maxItems) return neverAt(shape.at);
  return Number.isFinite(maxItems) ? { ...shape, prefix: shape.prefix.slice(0, maxItems), maxItems } : shape;
}

function objects(one: ObjectShape, other: ObjectShape, inner: Intersect): Shape {
  const names = new Set([...one.properties.keys(), ...other.properties.keys()]);
  const properties = new Map<string, Property>();
  for (const name of names) {
    const [first, ...others] = [...shapesOf(one, name), ...shapesOf(other, name)] as [Shape, ...Shape[]];
    const required = Boolean(one.properties.get(name)?.required || other.properties.get(name)?.required);
    properties.set(name, { required, shape: others.reduce((all, next) => inner(all, next), first) });
  }
  const bothNames = one.names && other.names ? inner(one.names, other.names) : (one.names ?? other.names);
  return settledObject({
    ...one,
    ...tighter({ ...one }, { ...other }, { largest: ['minProperties'], smallest: ['maxProperties'] }),
    properties,
    patterns: bothPatterns(one, other, inner),
    rest: inner(one.rest, other.rest),
    silent: one.silent && other.silent,
    ...(bothNames && { names: bothNames }),
  });
}

// A property that a pattern of one side matches also has to match the rest of the other side, unless that side has
// a pattern for it. Applying both never widens the shape.
function bothPatterns(one: ObjectShape, other: ObjectShape, inner: Intersect): ObjectShape['patterns'] {
  const meet = (from: ObjectShape, against: ObjectShape) =>
    from.patterns.map(({ source, shape }) => ({ source, shape: inner(shape, against.rest) }));
  return [...meet(one, other), ...meet(other, one)];
}

/** Returns `never` for an object that requires a property that no value matches. */
export function settledObject(shape: ObjectShape): Shape {
  const required = [...shape.properties.values()].filter((property) => property.required);
  const possible = [...shape.properties.values()].filter((property) => property.shape.kind !== 'never').length;
  const isClosed = shape.rest.kind === 'never' && shape.patterns.length === 0;
  const impossible =
    (isClosed && possible < (shape.minProperties ?? 0)) ||
    required.some((property) => property.shape.kind === 'never') ||
    required.length > (shape.maxProperties ?? Number.POSITIVE_INFINITY);
  return impossible ? neverAt(shape.at) : shape;
}

export const intersectAll = (shapes: readonly Shape[], intersect: Intersect, at: string): Shape =>
  shapes.reduce((all, next) => intersect(all, next), anyAt(at));
