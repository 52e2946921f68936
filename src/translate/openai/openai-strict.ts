import type { Json, JsonObject } from '../../core/call.ts';
import { encodeInput } from '../encode/encode-tool.ts';
import type { Dialect, Kept } from '../encode/encoder.ts';
import { lossBook, type TranslatedTool } from '../loss.ts';
import type { NumberShape, StringShape } from '../shape/shape.ts';
import { toTexts } from '../tool.ts';
import { OPENAI_TEXTS, type OpenAiTool } from './openai.ts';

export interface StrictLimits {
  readonly maxProperties: number;
  /** The limit of nested objects. */
  readonly maxDepth: number;
}

/** The limits of current models; the first ones allowed 100 properties and 5 levels. */
const STRICT_LIMITS: StrictLimits = { maxProperties: 5_000, maxDepth: 10 };

const MAX_ENUM_VALUES = 1_000;
// The limit is 120,000. The names of definitions and wrappers are not counted one by one.
const MAX_NAME_CHARS = 100_000;
const FORMATS = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']);

/**
 * Converts a tool for OpenAI with `strict: true`. All properties are required there, so optional ones may be null.
 * Maps become lists, tuples become objects, free values become JSON text. `toArguments` reverses all of it.
 */
export function toOpenAiStrict(tool: JsonObject, limits: StrictLimits = STRICT_LIMITS): TranslatedTool<OpenAiTool> {
  const { add, all } = lossBook();
  const texts = toTexts(tool, OPENAI_TEXTS, add);
  const { schema, definitions, toArguments } = encodeInput(tool.inputSchema, dialect(limits), add);
  const parameters = Object.keys(definitions).length > 0 ? { ...schema, $defs: definitions } : schema;
  return { value: { type: 'function', function: { ...texts, parameters, strict: true } }, lost: all(), toArguments };
}

const dialect = (limits: StrictLimits): Dialect => ({
  ...limits,
  nullMeansAbsent: true,
  propertyName: /^[a-zA-Z0-9_.-]{1,64}$/,
  maxEnumValues: MAX_ENUM_VALUES,
  maxNameChars: MAX_NAME_CHARS,
  emptyObjects: true,
  refer: (name) => ({ $ref: `#/$defs/${name}` }),
  string: keptString,
  number: keptNumber,
  typed: (kind) => ({ type: kind }),
  values: keptValues,
  texts: (texts) => ({ type: 'string', enum: texts }),
  list: (items, { minItems, maxItems }) => ({
    type: 'array',
    items,
    ...(minItems !== undefined && { minItems }),
    ...(maxItems !== undefined && { maxItems }),
  }),
  object: (properties, required) => ({ type: 'object', properties, required, additionalProperties: false }),
  union: keptUnion,
  annotate(schema, notes) {
    if (Object.keys(notes).length === 0) return schema;
    // No keyword may stand next to a reference.
    return schema.$ref === undefined ? { ...schema, ...notes } : { anyOf: [schema], ...notes };
  },
});

function keptString(shape: StringShape): Kept<StringShape> {
  const { minLength, maxLength, patterns, format, ...others } = shape;
  const [pattern, ...further] = patterns;
  const hasFormat = format !== undefined && FORMATS.has(format);
  return {
    schema: { type: 'string', ...(pattern !== undefined && { pattern }), ...(hasFormat && { format }) },
    shape: { ...others, patterns: patterns.slice(0, 1) },
    dropped: [
      ...(minLength ? [{ keyword: 'minLength', value: minLength, effect: 'wider' as const }] : []),
      ...(maxLength !== undefined ? [{ keyword: 'maxLength', value: maxLength, effect: 'wider' as const }] : []),
      ...further.map((value) => ({ keyword: 'pattern', value, effect: 'wider' as const })),
      ...(format !== undefined && !hasFormat ? [{ keyword: 'format', value: format, effect: 'note' as const }] : []),
    ],
  };
}

const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const;

function keptNumber(shape: NumberShape): Kept<NumberShape> {
  const { format, multiplesOf, ...others } = shape;
  const [multipleOf, ...further] = multiplesOf;
  const bounds = BOUNDS.flatMap((key) => (shape[key] === undefined ? [] : [[key, shape[key]] as const]));
  return {
    schema: {
      type: shape.integer ? 'integer' : 'number',
      ...Object.fromEntries(bounds),
      ...(multipleOf !== undefined && { multipleOf }),
    },
    shape: { ...others, multiplesOf: multiplesOf.slice(0, 1) },
    dropped: [
      ...further.map((value) => ({ keyword: 'multipleOf', value, effect: 'wider' as const })),
      ...(format !== undefined ? [{ keyword: 'format', value: format, effect: 'note' as const }] : []),
    ],
  };
}

function keptValues(values: readonly Json[]): JsonObject | undefined {
  if (values.some((value) => typeof value === 'object' && value !== null)) return undefined;
  const groups = Map.groupBy(values, (value) => (value === null ? 'null' : typeof value));
  const members = [...groups].map(([type, group]): JsonObject => (type === 'null' ? { type } : { type, enum: group }));
  return members.length === 1 ? members[0] : { anyOf: members };
}

function keptUnion(members: readonly JsonObject[], nullable: boolean): JsonObject {
  const [only] = members;
  if (!nullable) return members.length === 1 && only ? only : { anyOf: members };
  const isPlain = members.length === 1 && only && typeof only.type === 'string' && only.enum === undefined;
  if (isPlain) return { ...only, type: only.type === 'null' ? 'null' : [only.type as string, 'null'] };
  const isListed = members.length === 1 && Array.isArray(only?.anyOf);
  if (!isListed) return { anyOf: [...members, { type: 'null' }] };
  const { anyOf, ...notes } = only as { anyOf: readonly JsonObject[] };
  return { anyOf: anyOf.some(({ type }) => type === 'null') ? anyOf : [...anyOf, { type: 'null' }], ...notes };
}
