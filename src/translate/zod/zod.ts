import { z } from 'zod';
import type { Json, JsonObject } from '../../core/call.ts';
import { type AddLoss, lossBook, type Translated } from '../loss.ts';
import { acceptsValue } from '../shape/accepts-value.ts';
import { modernise } from '../shape/modernise.ts';
import { readShape, type Shapes } from '../shape/read-shape.ts';
import type {
  ArrayShape,
  NumberShape,
  ObjectShape,
  ReferenceShape,
  Shape,
  StringShape,
  UnionShape,
} from '../shape/shape.ts';

// zod's own `fromJSONSchema` matches patterns with backtracking, ignores keywords of schemas without a type, and
// throws on unknown keywords. It cannot be used for untrusted schemas.

/** The types that `toZod` made. Their metadata has all checks, so they convert back without loss. */
export const convertedTypes = new WeakSet<z.core.$ZodType>();

interface Printer {
  readonly shapes: Shapes;
  readonly lose: AddLoss;
  readonly lazy: Map<string, z.ZodType>;
  print(shape: Shape, immediate: readonly string[]): z.ZodType;
}

/** Converts a JSON Schema to a zod type that accepts the same values and never changes them. */
export function toZod(schema: Json): Translated<z.ZodType> {
  const { add, all } = lossBook();
  const shapes = readShape(modernise(schema, '', add), { at: '' }, add);
  const printer: Printer = {
    shapes,
    lose: add,
    lazy: new Map(),
    print: (shape, immediate) => withNotes(printKind(printer, shape, immediate), shape),
  };
  return { value: printer.print(shapes.root, []), lost: all() };
}

function withNotes(type: z.ZodType, { notes }: Shape): z.ZodType {
  if (Object.keys(notes).length === 0) return type;
  const annotated = type.meta({ ...type.meta(), ...notes });
  return convertedTypes.has(type) ? markConverted(annotated) : annotated;
}

function markConverted<T extends z.ZodType>(type: T): T {
  convertedTypes.add(type);
  return type;
}

function printKind(printer: Printer, shape: Shape, immediate: readonly string[]): z.ZodType {
  switch (shape.kind) {
    case 'any':
      return z.any();
    case 'never':
      return z.never();
    case 'null':
      return z.null();
    case 'boolean':
      return z.boolean();
    case 'string':
      return checked(printer, z.string(), shape, stringKeywords(shape));
    case 'number':
      return checked(printer, z.number(), shape, numberKeywords(shape));
    case 'enum': {
      const isPlain = shape.values.every((value) => typeof value !== 'object' || value === null);
      if (isPlain) return z.literal(shape.values as (string | number | boolean | null)[]);
      return checked(printer, z.any(), shape, { enum: shape.values });
    }
    case 'array':
      return printArray(printer, shape);
    case 'object':
      return printObject(printer, shape);
    case 'union':
      return printUnion(printer, shape, immediate);
    case 'reference':
      return printReference(printer, shape, immediate);
  }
}

function checked(printer: Printer, type: z.ZodType, shape: Shape, keywords: JsonObject): z.ZodType {
  if (Object.keys(keywords).length === 0) return type;
  const { resolve } = printer.shapes;
  const refined = markConverted(
    type.refine((value) => acceptsValue(shape, value as Json, resolve), describeCheck(keywords)),
  );
  return markConverted(refined.meta(keywords));
}

const describeCheck = (keywords: JsonObject) => `It has to satisfy ${JSON.stringify(keywords).slice(0, 200)}`;

const withoutUndefined = (entries: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));

function stringKeywords({ minLength, maxLength, patterns, format }: StringShape): JsonObject {
  const [pattern, ...further] = patterns;
  const allOf = further.length > 0 ? further.map((source) => ({ pattern: source })) : undefined;
  return withoutUndefined({ minLength, maxLength, pattern, allOf, format });
}

function numberKeywords(shape: NumberShape): JsonObject {
  const { integer, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multiplesOf, format } = shape;
  const [multipleOf, ...further] = multiplesOf;
  const allOf = further.length > 0 ? further.map((step) => ({ multipleOf: step })) : undefined;
  const type = integer ? 'integer' : undefined;
  return withoutUndefined({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, allOf, format });
}

function printArray(printer: Printer, shape: ArrayShape): z.ZodType {
  const { prefix, items, minItems, maxItems, uniqueItems } = shape;
  const rest = printer.print(items, []);
  const places = prefix.map((place, at) => {
    const type = printer.print(place, []);
    return at < (minItems ?? 0) ? type : type.optional();
  });
  const isEnded = items.kind === 'never' || (maxItems ?? Number.POSITIVE_INFINITY) <= prefix.length;
  const tuple = z.tuple(places as unknown as [z.ZodType, ...z.ZodType[]]);
  const base = prefix.length === 0 ? z.array(rest) : isEnded ? tuple : tuple.rest(rest);
  const keywords = withoutUndefined({ minItems, maxItems, uniqueItems: uniqueItems || undefined });
  return checked(printer, base, { ...shape, prefix: [], items: ANY }, keywords);
}

const ANY: Shape = { kind: 'any', at: '', notes: {} };

function printObject(printer: Printer, shape: ObjectShape): z.ZodType {
  const { properties, patterns, rest, names, minProperties, maxProperties } = shape;
  // zod would find these names on every object through its prototype.
  const plain = [...properties].filter(([name]) => !(name in Object.prototype));
  const entries = plain.map(([name, property]): [string, z.ZodType] => {
    const type = printer.print(property.shape, []);
    return [name, property.required ? type : type.optional()];
  });
  const fields = Object.fromEntries(entries);
  // Keywords that zod lacks are checked by our own check of the whole value.
  if (patterns.length > 0 || names || plain.length < properties.size) {
    return z.looseObject(fields).refine((value) => acceptsValue(shape, value as JsonObject, printer.shapes.resolve));
  }
  const object =
    rest.kind === 'never'
      ? z.strictObject(fields)
      : rest.kind === 'any'
        ? z.looseObject(fields)
        : z.object(fields).catchall(printer.print(rest, []));
  return checked(
    printer,
    object,
    { ...shape, properties: new Map(), rest: ANY },
    withoutUndefined({ minProperties, maxProperties }),
  );
}

function printUnion(printer: Printer, { of, exclusive }: UnionShape, immediate: readonly string[]): z.ZodType {
  const members = of.filter((member) => {
    if (member.kind !== 'reference' || !immediate.includes(member.to)) return true;
    printer.lose(member.at, '$ref', 'narrower', 'It refers to itself directly and adds nothing.');
    return false;
  });
  const types = members.map((member) => printer.print(member, immediate));
  return exclusive ? z.xor(types) : z.union(types);
}

function printReference(printer: Printer, shape: ReferenceShape, immediate: readonly string[]): z.ZodType {
  const { to } = shape;
  const known = printer.lazy.get(to);
  if (known) return known;
  let target: z.ZodType | undefined;
  const type = z.lazy(() => target ?? z.any());
  printer.lazy.set(to, type);
  target = printer.print(printer.shapes.resolve(shape), [...immediate, to]);
  return type;
}
