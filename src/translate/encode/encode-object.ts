import type { Json, JsonObject } from '../../core/call.ts';
import { acceptsValue } from '../shape/accepts-value.ts';
import { intersectAll } from '../shape/intersect.ts';
import {
  type ArrayShape,
  anyAt,
  neverAt,
  type ObjectShape,
  type Property,
  type Shape,
  unionAt,
} from '../shape/shape.ts';
import type { Code } from './code.ts';
import { type CodedProperty, entriesCode, itemName, objectCode, REST, tupleCode } from './code-object.ts';
import { annotated, cut, type EncodePath, type Encoder, freeName, inside } from './encoder.ts';

const MAX_NAME_CHARS = 48;

export function encodeObject(encoder: Encoder, shape: ObjectShape, path: EncodePath): Code {
  const { dialect, lose } = encoder;
  const known = new Map([...shape.properties].filter(([, property]) => property.shape.kind !== 'never'));
  if (path.depth > dialect.maxDepth) return cut(encoder, shape, `It is deeper than ${dialect.maxDepth} objects`);
  const characters = [...known.keys()].reduce((sum, name) => sum + name.length, 0);
  const isTooMuch = encoder.properties + known.size > dialect.maxProperties;
  if (isTooMuch || encoder.characters + characters > dialect.maxNameChars) {
    return cut(encoder, shape, `There are more than ${dialect.maxProperties} properties, or their names are too long`);
  }
  encoder.characters += characters;
  if (known.size === 0) return encodeMap(encoder, shape, path);
  if (!shape.silent && shape.rest.kind !== 'never') {
    lose(shape.at, 'additionalProperties', 'narrower', 'The dialect accepts only named properties.');
  }
  if (shape.patterns.length > 0) {
    lose(shape.at, 'patternProperties', 'narrower', 'The dialect accepts only named properties.');
  }
  loseCounts(encoder, shape, known);
  return encodeProperties(encoder, { ...shape, properties: known }, path);
}

function loseCounts({ lose }: Encoder, shape: ObjectShape, known: ReadonlyMap<string, Property>): void {
  const required = [...known.values()].filter((property) => property.required).length;
  const { minProperties: min = 0, maxProperties: max = Number.POSITIVE_INFINITY } = shape;
  if (required < min) lose(shape.at, 'minProperties', 'wider', 'The dialect does not count properties.');
  if (known.size > max) lose(shape.at, 'maxProperties', 'wider', 'The dialect does not count properties.');
}

/** Encodes an object with named properties only. */
export function encodeProperties(encoder: Encoder, shape: ObjectShape, path: EncodePath): Code {
  const { dialect, lose } = encoder;
  encoder.properties += shape.properties.size;
  const names = legalNames([...shape.properties.keys()], dialect.propertyName);
  const coded = new Map<string, CodedProperty>();
  for (const [original, property] of shape.properties) {
    const code = encoder.encode(property.shape, { ...inside(path), depth: path.depth + 1 });
    const mayBeNull = property.shape.kind !== 'any' && acceptsValue(property.shape, null, encoder.shapes.resolve);
    if (dialect.nullMeansAbsent && !property.required && mayBeNull) {
      lose(property.shape.at, 'type', 'narrower', 'A null means that the property is left out.');
    }
    coded.set(names.get(original) as string, { original, code, required: property.required });
  }
  const properties = Object.fromEntries(
    [...coded].map(([name, { code, required }]): [string, JsonObject] => {
      const optional = dialect.nullMeansAbsent && !required;
      return [name, optional ? dialect.union([code.schema], true) : code.schema];
    }),
  );
  const required = [...coded].filter((entry) => dialect.nullMeansAbsent || entry[1].required).map(([name]) => name);
  const schema = annotated(encoder, dialect.object(properties, required), shape);
  return objectCode(schema, coded, { nullMeansAbsent: dialect.nullMeansAbsent });
}

function legalNames(originals: readonly string[], legal: RegExp): Map<string, string> {
  const isLegal = (name: string) => legal.test(name) && name !== '__proto__';
  const names = new Map(originals.filter(isLegal).map((name) => [name, name]));
  for (const original of originals) {
    if (names.has(original)) continue;
    const plain = original.slice(0, MAX_NAME_CHARS).replace(/[^a-zA-Z0-9_-]/g, '_');
    const start = /^[a-zA-Z]/.test(plain) ? plain : `p${plain}`;
    names.set(original, freeName(start, new Set([...names.keys(), ...names.values()])));
  }
  return names;
}

/** Encodes an object without named properties: empty, any object, or a list of names and values. */
function encodeMap(encoder: Encoder, shape: ObjectShape, path: EncodePath): Code {
  const { dialect, lose } = encoder;
  const { rest, patterns, names } = shape;
  if (rest.kind === 'never' && patterns.length === 0 && dialect.emptyObjects) {
    return encodeProperties(encoder, { ...shape, properties: new Map() }, path);
  }
  const isFree = rest.kind === 'any' && patterns.length === 0 && !names;
  const value = sharedValue(encoder, shape);
  if (isFree || value.kind === 'never') {
    lose(shape.at, 'type', 'wider', 'It is written as JSON text, which may contain any value.');
    return encoder.text(shape, 'object');
  }
  if (patterns.length > 0 && (rest.kind !== 'never' || patterns.length > 1)) {
    lose(shape.at, 'patternProperties', 'narrower', 'All properties have to match the schema of each pattern.');
  }
  if (shape.properties.size > 0)
    lose(shape.at, 'properties', 'wider', 'The dialect cannot list names that are not allowed.');
  const { minProperties: min = 0, maxProperties: max = Number.POSITIVE_INFINITY } = shape;
  if (min > 1) lose(shape.at, 'minProperties', 'wider', 'A name may be listed twice.');
  return entries(encoder, shape, { name: nameOf(encoder, shape), value, path, min, max });
}

const sharedValue = ({ shapes }: Encoder, { rest, patterns, at }: ObjectShape): Shape =>
  intersectAll([...(rest.kind === 'never' ? [] : [rest]), ...patterns.map(({ shape }) => shape)], shapes.intersect, at);

function nameOf({ shapes }: Encoder, { names, rest, patterns, at }: ObjectShape): Shape {
  const text = (sources: readonly string[]): Shape => ({ kind: 'string', at, notes: {}, patterns: sources });
  const own = shapes.intersect(text([]), names ?? anyAt(at));
  if (rest.kind !== 'never') return own;
  return shapes.intersect(
    own,
    unionAt(
      at,
      patterns.map(({ source }) => text([source])),
    ),
  );
}

interface Entries {
  readonly name: Shape;
  readonly value: Shape;
  readonly path: EncodePath;
  readonly min: number;
  readonly max: number;
}

function entries(encoder: Encoder, shape: ObjectShape, { name, value, path, min, max }: Entries): Code {
  const entry = encodeProperties(
    encoder,
    {
      ...bareObject(shape.at),
      properties: new Map([
        ['name', { shape: name, required: true }],
        ['value', { shape: value, required: true }],
      ]),
    },
    inside(path),
  );
  const list: ArrayShape = {
    kind: 'array',
    at: shape.at,
    notes: shape.notes,
    prefix: [],
    items: anyAt(shape.at),
    uniqueItems: false,
    ...(min > 0 && { minItems: min }),
    ...(Number.isFinite(max) && { maxItems: max }),
  };
  const schema = annotated(encoder, encoder.dialect.list(entry.schema, list), shape, ['Names and values.']);
  return entriesCode(schema, entry, { min, max });
}

export const bareObject = (at: string): ObjectShape => ({
  kind: 'object',
  at,
  notes: {},
  properties: new Map(),
  patterns: [],
  rest: neverAt(at),
  silent: false,
});

/** Encodes a tuple as an object with a property for each place. */
export function encodeTuple(encoder: Encoder, shape: ArrayShape, path: EncodePath): Code {
  const { prefix, items, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = shape;
  const { lose } = encoder;
  const places = prefix.map((place, at): [string, Property] => [
    itemName(at),
    { shape: place, required: at < minItems },
  ]);
  const isLonger = maxItems > prefix.length && items.kind !== 'never';
  const needsTail = minItems > prefix.length;
  if (isLonger && items.kind === 'any' && !needsTail) {
    lose(shape.at, 'items', 'narrower', 'Only items with a place of their own can be sent.');
  } else if (isLonger) {
    places.push([REST, { required: needsTail, shape: tailOf(shape) }]);
  }
  if (places.filter(([, { required }]) => !required).length > 1) {
    lose(shape.at, 'minItems', 'wider', 'The dialect cannot require earlier items for a later one.');
  }
  if (shape.uniqueItems) lose(shape.at, 'uniqueItems', 'wider', 'The dialect lacks the keyword.');
  if (path.depth > encoder.dialect.maxDepth) return cut(encoder, shape, 'It is too deep');
  const object = { ...bareObject(shape.at), notes: shape.notes, properties: new Map(places) };
  return tupleCode(encodeProperties(encoder, object, inside(path)), prefix.length);
}

function tailOf({ at, items, prefix, minItems = 0, maxItems }: ArrayShape): Shape {
  const min: Json = minItems - prefix.length;
  return {
    kind: 'array',
    at,
    notes: {},
    prefix: [],
    items,
    uniqueItems: false,
    ...(min > 0 && { minItems: min }),
    ...(maxItems !== undefined && { maxItems: maxItems - prefix.length }),
  };
}
