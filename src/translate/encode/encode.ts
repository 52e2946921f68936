import type { Json } from '../../core/call.ts';
import type { AddLoss } from '../loss.ts';
import { acceptsValue } from '../shape/accepts-value.ts';
import { areApart } from '../shape/apart.ts';
import { describeKeyword } from '../shape/read-notes.ts';
import type { Shapes } from '../shape/read-shape.ts';
import type {
  ArrayShape,
  EnumShape,
  NumberShape,
  ReferenceShape,
  Shape,
  StringShape,
  UnionShape,
} from '../shape/shape.ts';
import { asIs, type Code, eitherOf, enumTexts, jsonText } from './code.ts';
import { listCode } from './code-object.ts';
import { encodeObject, encodeTuple } from './encode-object.ts';
import { annotated, cut, type Dialect, type EncodePath, type Encoder, freeName, inside, type Kept } from './encoder.ts';

const MAX_PARTS = 5_000;
const MAX_REPEATS = 3;
// An enumeration may be long or have long values, not both.
const MANY_VALUES = 250;
const MAX_CHARS_OF_MANY = 15_000;

export function newEncoder(dialect: Dialect, shapes: Shapes, lose: AddLoss): Encoder {
  const encoder: Encoder = {
    dialect,
    shapes,
    lose,
    definitions: new Map(),
    parts: 0,
    properties: 0,
    values: 0,
    characters: 0,
    text(shape, only) {
      const hint = only === 'object' ? 'A JSON object, written as text.' : 'JSON text.';
      return jsonText(annotated(encoder, dialect.typed('string'), shape, [hint]), only);
    },
    encode(shape, path) {
      if (++encoder.parts > MAX_PARTS) return cut(encoder, shape, 'The schema is too large from here on');
      return encodeKind(encoder, shape, path);
    },
  };
  return encoder;
}

function encodeKind(encoder: Encoder, shape: Shape, path: EncodePath): Code {
  const { dialect } = encoder;
  const resolve = encoder.shapes.resolve;
  switch (shape.kind) {
    case 'any':
      return encoder.text(shape, 'anything');
    case 'never':
      encoder.lose(shape.at, 'not', 'wider', 'No value is valid, which the dialect cannot express.');
      return encoder.text(shape, 'anything');
    case 'string':
      return encodeKept(encoder, dialect.string(shape));
    case 'number':
      return encodeKept(encoder, dialect.number(shape));
    case 'boolean':
    case 'null':
      return asIs(annotated(encoder, dialect.typed(shape.kind), shape), (value) => acceptsValue(shape, value, resolve));
    case 'enum':
      return encodeEnum(encoder, shape);
    case 'array':
      return shape.prefix.length > 0 ? encodeTuple(encoder, shape, path) : encodeList(encoder, shape, path);
    case 'object':
      return encodeObject(encoder, shape, path);
    case 'union':
      return encodeUnion(encoder, shape, path);
    case 'reference':
      return encodeReference(encoder, shape, path);
  }
}

function encodeKept(encoder: Encoder, { schema, shape, dropped }: Kept<StringShape | NumberShape>): Code {
  const words = dropped.map(({ keyword, value, effect }) => {
    encoder.lose(shape.at, keyword, effect, 'The dialect lacks the keyword, so it is in the description only.');
    return describeKeyword(keyword, value);
  });
  return asIs(annotated(encoder, schema, shape, words), (value) => acceptsValue(shape, value, encoder.shapes.resolve));
}

function encodeEnum(encoder: Encoder, shape: EnumShape): Code {
  const { dialect } = encoder;
  const { length: characters } = JSON.stringify(shape.values);
  const isLong = shape.values.length > MANY_VALUES && characters > MAX_CHARS_OF_MANY;
  const isTooMuch = encoder.values + shape.values.length > dialect.maxEnumValues;
  if (isLong || isTooMuch || encoder.characters + characters > dialect.maxNameChars) {
    return cut(encoder, shape, 'It lists more values than the dialect takes');
  }
  encoder.values += shape.values.length;
  encoder.characters += characters;
  const listed = dialect.values(shape.values);
  if (listed)
    return asIs(annotated(encoder, listed, shape), (value) => acceptsValue(shape, value, encoder.shapes.resolve));
  const texts = enumTexts(shape.values);
  return {
    schema: annotated(encoder, dialect.texts([...texts.keys()]), shape),
    accepts: (value) => typeof value === 'string' && texts.has(value),
    decode: (value) => (typeof value === 'string' && texts.has(value) ? (texts.get(value) as Json) : value),
  };
}

function encodeList(encoder: Encoder, shape: ArrayShape, path: EncodePath): Code {
  const { minItems: min = 0, maxItems: max = Number.POSITIVE_INFINITY } = shape;
  const isUnique = shape.uniqueItems && max > 1;
  if (isUnique)
    encoder.lose(shape.at, 'uniqueItems', 'wider', 'The dialect lacks the keyword, so it is in the description only.');
  const items =
    shape.items.kind === 'never' ? encoder.text(shape.items, 'anything') : encoder.encode(shape.items, inside(path));
  const schema = encoder.dialect.list(items.schema, shape);
  return listCode(annotated(encoder, schema, shape, isUnique ? [describeKeyword('uniqueItems', true)] : []), items, {
    min,
    max,
  });
}

function encodeUnion(encoder: Encoder, shape: UnionShape, path: EncodePath): Code {
  if (shape.exclusive && !areApart(shape, encoder.shapes.resolve)) {
    encoder.lose(shape.at, 'oneOf', 'wider', 'The dialect cannot require that exactly one alternative matches.');
  }
  const nullable = shape.of.some(({ kind }) => kind === 'null');
  const members = shape.of.filter((member) => member.kind !== 'null' && !leadsNowhere(encoder, member, path));
  const codes = members.map((member) => encoder.encode(member, path));
  const schema = annotated(
    encoder,
    encoder.dialect.union(
      codes.map((code) => code.schema),
      nullable,
    ),
    shape,
  );
  // A JSON text that contains an object is decoded as that object.
  const order = codes.toSorted((_, other) => (members[codes.indexOf(other)]?.kind === 'object' ? 1 : 0));
  return eitherOf(schema, nullable ? [asIs({}, (value) => value === null), ...order] : order);
}

function leadsNowhere(encoder: Encoder, member: Shape, { immediate }: EncodePath): boolean {
  if (member.kind !== 'reference' || !immediate.includes(member.to)) return false;
  encoder.lose(member.at, '$ref', 'narrower', 'It refers to itself directly and adds nothing.');
  return true;
}

function encodeReference(encoder: Encoder, shape: ReferenceShape, path: EncodePath): Code {
  const { dialect, definitions, shapes } = encoder;
  const further: EncodePath = {
    ...path,
    immediate: [...path.immediate, shape.to],
    references: [...path.references, shape.to],
  };
  if (!dialect.refer) {
    if (path.references.filter((to) => to === shape.to).length >= MAX_REPEATS) {
      return cut(encoder, shape, 'The dialect cannot say that a schema holds itself');
    }
    const target = shapes.resolve(shape);
    return encoder.encode({ ...target, notes: { ...target.notes, ...shape.notes } }, further);
  }
  if (!definitions.has(shape.to)) {
    const definition: { name: string; code?: Code } = { name: definitionName(encoder, shape.to) };
    definitions.set(shape.to, definition);
    definition.code = encoder.encode(shapes.resolve(shape), { ...further, depth: 1 });
  }
  const definition = definitions.get(shape.to) as { readonly name: string; code?: Code };
  return {
    schema: annotated(encoder, dialect.refer(definition.name), shape),
    accepts: (value, effort) => effort.within(() => definition.code?.accepts(value, effort) ?? false),
    decode: (value, effort) => effort.within(() => (definition.code ? definition.code.decode(value, effort) : value)),
  };
}

function definitionName({ definitions }: Encoder, pointer: string): string {
  const taken = new Set([...definitions.values()].map(({ name }) => name));
  const plain = (pointer.split('/').at(-1) ?? '').replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 48);
  return freeName(plain === '' || plain === '__proto__' ? 'definition' : plain, taken);
}
