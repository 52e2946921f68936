import type { Json, JsonObject } from '../../core/call.ts';
import { encodeInput } from '../encode/encode-tool.ts';
import type { Dialect, Kept } from '../encode/encoder.ts';
import { lossBook, type TranslatedTool } from '../loss.ts';
import type { NumberShape, StringShape } from '../shape/shape.ts';
import { type TextLimits, toTexts } from '../tool.ts';

export interface GeminiFunction {
  readonly name: string;
  readonly description?: string;
  /** Absent when the function takes no arguments: Gemini refuses an object without properties. */
  readonly parameters?: JsonObject;
}

const TEXTS: TextLimits = { name: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/, maxNameChars: 64 };
const NUMBER_FORMATS = new Set(['float', 'double']);
const INTEGER_FORMATS = new Set(['int32', 'int64']);

/** Converts a tool to a Gemini function declaration: a subset of OpenAPI without references and recursion. */
export function toGemini(tool: JsonObject): TranslatedTool<GeminiFunction> {
  const { add, all } = lossBook();
  const texts = toTexts(tool, TEXTS, add);
  const { schema, toArguments } = encodeInput(tool.inputSchema, DIALECT, add);
  const isEmpty = Object.keys((schema.properties ?? {}) as JsonObject).length === 0;
  return { value: isEmpty ? texts : { ...texts, parameters: schema }, lost: all(), toArguments };
}

const DIALECT: Dialect = {
  nullMeansAbsent: false,
  propertyName: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
  maxDepth: 16,
  maxProperties: 5_000,
  maxEnumValues: 1_000,
  maxNameChars: 100_000,
  emptyObjects: false,
  string: keptString,
  number: keptNumber,
  typed: (kind) => ({ type: kind.toUpperCase() }),
  values: keptValues,
  texts: (texts) => ({ type: 'STRING', format: 'enum', enum: texts }),
  list: (items, { minItems, maxItems }) => ({
    type: 'ARRAY',
    items,
    ...(minItems !== undefined && { minItems: String(minItems) }),
    ...(maxItems !== undefined && { maxItems: String(maxItems) }),
  }),
  object: (properties, required) => ({
    type: 'OBJECT',
    properties,
    ...(required.length > 0 && { required }),
    propertyOrdering: Object.keys(properties),
  }),
  union(members, nullable) {
    const [first, ...others] = members.flatMap((member) => (member.anyOf ?? [member]) as readonly JsonObject[]);
    if (!first) return { type: 'NULL' };
    const start = nullable && first.type !== 'NULL' ? { ...first, nullable: true } : first;
    return others.length === 0 ? start : { anyOf: [start, ...others] };
  },
  annotate(schema, notes) {
    if (!Array.isArray(schema.anyOf)) return { ...schema, ...notes };
    // No keyword may stand next to `anyOf`, so the first alternative has the description.
    const [first, ...others] = schema.anyOf as readonly JsonObject[];
    const description = [notes.description, first?.description].filter((text) => text !== undefined).join(' ');
    return { anyOf: [{ ...notes, ...first, ...(description !== '' && { description }) }, ...others] };
  },
};

// Google's JSON mapping writes 64-bit integers as strings.
function keptString(shape: StringShape): Kept<StringShape> {
  const { format, patterns, minLength, maxLength, ...others } = shape;
  const [pattern, ...further] = patterns;
  const hasFormat = format === 'date-time';
  return {
    schema: {
      type: 'STRING',
      ...(minLength !== undefined && { minLength: String(minLength) }),
      ...(maxLength !== undefined && { maxLength: String(maxLength) }),
      ...(pattern !== undefined && { pattern }),
      ...(hasFormat && { format }),
    },
    shape: {
      ...others,
      ...(minLength !== undefined && { minLength }),
      ...(maxLength !== undefined && { maxLength }),
      patterns: patterns.slice(0, 1),
    },
    dropped: [
      ...further.map((value) => ({ keyword: 'pattern', value, effect: 'wider' as const })),
      ...(format !== undefined && !hasFormat ? [{ keyword: 'format', value: format, effect: 'note' as const }] : []),
    ],
  };
}

function keptNumber(shape: NumberShape): Kept<NumberShape> {
  const { format, multiplesOf, minimum: _, maximum: __, exclusiveMinimum, exclusiveMaximum, ...others } = shape;
  const minimum = lowest(shape);
  const maximum = highest(shape);
  const hasFormat = format !== undefined && (shape.integer ? INTEGER_FORMATS : NUMBER_FORMATS).has(format);
  const bounds = { ...(minimum !== undefined && { minimum }), ...(maximum !== undefined && { maximum }) };
  // An exclusive bound of integers becomes the next integer.
  const open = shape.integer ? {} : { exclusiveMinimum, exclusiveMaximum };
  return {
    schema: { type: shape.integer ? 'INTEGER' : 'NUMBER', ...bounds, ...(hasFormat && { format }) },
    shape: { ...others, ...bounds, multiplesOf: [] },
    dropped: [
      ...Object.entries(open).flatMap(([keyword, value]) =>
        value === undefined ? [] : [{ keyword, value, effect: 'wider' as const }],
      ),
      ...multiplesOf.map((value) => ({ keyword: 'multipleOf', value, effect: 'wider' as const })),
      ...(format !== undefined && !hasFormat ? [{ keyword: 'format', value: format, effect: 'note' as const }] : []),
    ],
  };
}

function lowest({ integer, minimum, exclusiveMinimum: open }: NumberShape): number | undefined {
  const next = open === undefined ? undefined : integer ? Math.floor(open) + 1 : open;
  return minimum === undefined || next === undefined ? (minimum ?? next) : Math.max(minimum, next);
}

function highest({ integer, maximum, exclusiveMaximum: open }: NumberShape): number | undefined {
  const next = open === undefined ? undefined : integer ? Math.ceil(open) - 1 : open;
  return maximum === undefined || next === undefined ? (maximum ?? next) : Math.min(maximum, next);
}

function keptValues(values: readonly Json[]): JsonObject | undefined {
  const texts = values.filter((value) => typeof value === 'string' && value !== '');
  const hasNull = values.includes(null);
  if (texts.length + (hasNull ? 1 : 0) < values.length) {
    const isEither = values.length === 2 && values.includes(true) && values.includes(false);
    return isEither ? { type: 'BOOLEAN' } : undefined;
  }
  if (texts.length === 0) return { type: 'NULL' };
  return { type: 'STRING', format: 'enum', enum: texts, ...(hasNull && { nullable: true }) };
}
