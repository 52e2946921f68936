import type { Json, JsonObject } from '../../core/call.ts';
import { canonicalJson, isObject } from '../../core/json.ts';
import { linearPattern } from './linear-pattern.ts';
import type { ArrayShape, NumberShape, ObjectShape, ResolveShape, Shape, StringShape } from './shape.ts';

// A limit against unions that contain themselves; real values are less deep.
const MAX_DEPTH = 64;
const MAX_STEPS = 50_000;

/** Tests a value against a shape. Returns false when that takes too long. */
export function acceptsValue(shape: Shape, value: Json, resolve: ResolveShape): boolean {
  let steps = 0;
  const isWithin = (depth: number) => depth <= MAX_DEPTH && ++steps <= MAX_STEPS;
  return fitsAt(shape, value, { depth: 0, isWithin, resolve });
}

interface Search {
  readonly depth: number;
  readonly isWithin: (depth: number) => boolean;
  readonly resolve: ResolveShape;
}

function fitsAt(shape: Shape, value: Json, search: Search): boolean {
  if (!search.isWithin(search.depth)) return false;
  const inner = (other: Shape, part: Json) => fitsAt(other, part, { ...search, depth: search.depth + 1 });
  switch (shape.kind) {
    case 'any':
      return true;
    case 'never':
      return false;
    case 'null':
      return value === null;
    case 'boolean':
      return typeof value === 'boolean';
    case 'string':
      return typeof value === 'string' && fitsString(shape, value);
    case 'number':
      return typeof value === 'number' && fitsNumber(shape, value);
    case 'enum':
      return shape.values.some((one) => canonicalJson(one) === canonicalJson(value));
    case 'union': {
      const fitting = shape.of.filter((one) => inner(one, value)).length;
      return shape.exclusive ? fitting === 1 : fitting > 0;
    }
    case 'reference':
      return inner(search.resolve(shape), value);
    case 'array':
      return Array.isArray(value) && fitsArray(shape, value, inner);
    case 'object':
      return isObject(value) && fitsObject(shape, value, inner);
  }
}

function fitsString(shape: StringShape, text: string): boolean {
  const length = [...text].length;
  return (
    length >= (shape.minLength ?? 0) &&
    length <= (shape.maxLength ?? Number.POSITIVE_INFINITY) &&
    shape.patterns.every((source) => linearPattern(source)?.(text) ?? true)
  );
}

function fitsNumber(shape: NumberShape, value: number): boolean {
  return (
    (!shape.integer || Number.isInteger(value)) &&
    value >= (shape.minimum ?? Number.NEGATIVE_INFINITY) &&
    value <= (shape.maximum ?? Number.POSITIVE_INFINITY) &&
    value > (shape.exclusiveMinimum ?? Number.NEGATIVE_INFINITY) &&
    value < (shape.exclusiveMaximum ?? Number.POSITIVE_INFINITY) &&
    shape.multiplesOf.every((step) => Number.isInteger(value / step))
  );
}

type Inner = (shape: Shape, value: Json) => boolean;

function fitsArray(shape: ArrayShape, value: readonly Json[], inner: Inner): boolean {
  return (
    value.length >= (shape.minItems ?? 0) &&
    value.length <= (shape.maxItems ?? Number.POSITIVE_INFINITY) &&
    value.every((item, index) => inner(shape.prefix[index] ?? shape.items, item)) &&
    (!shape.uniqueItems || new Set(value.map((item) => canonicalJson(item))).size === value.length)
  );
}

function fitsObject(shape: ObjectShape, value: JsonObject, inner: Inner): boolean {
  const names = Object.keys(value);
  return (
    names.length >= (shape.minProperties ?? 0) &&
    names.length <= (shape.maxProperties ?? Number.POSITIVE_INFINITY) &&
    [...shape.properties].every(([name, { required }]) => !required || Object.hasOwn(value, name)) &&
    names.every((name) => shapesOf(shape, name).every((one) => inner(one, value[name] as Json))) &&
    names.every((name) => !shape.names || inner(shape.names, name))
  );
}

/** Returns all shapes that apply to a property. */
export function shapesOf(shape: ObjectShape, name: string): readonly Shape[] {
  const declared = shape.properties.get(name);
  if (declared) return [declared.shape];
  const matching = shape.patterns.filter(({ source }) => linearPattern(source)?.(name) ?? false);
  return matching.length > 0 ? matching.map((pattern) => pattern.shape) : [shape.rest];
}
