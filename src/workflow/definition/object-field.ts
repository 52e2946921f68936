import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { childOf, type SourceValue } from './compilation.ts';
import { refuse, type SourceField, type SourceFields, shownValue, type WithRequired } from './field.ts';

interface ObjectOptions<R> {
  readonly required: readonly R[];
  /** The thing for messages: `a tool step`. */
  readonly of: string;
  /** Accepts `tool_name` for `toolName`. */
  readonly snakeCase?: boolean;
  readonly about?: string;
  /** A value for the hint of a wrong one: `{max: 3}`. */
  readonly example?: string;
}

/** The unknown keys of one object that are reported. To look for the key that was meant takes time. */
const MAX_UNKNOWN_KEYS = 20;

const expectedOf = ({ of, example }: ObjectOptions<string>): string =>
  example === undefined ? `an object: ${of}` : `an object such as \`${example}\``;

/** An object with known keys. It is undefined if a required key is missing or wrong. */
export function objectField<F extends SourceFields, R extends keyof F & string>(
  fields: F,
  options: ObjectOptions<R>,
): SourceField<WithRequired<F, R>> {
  return {
    schema: objectSchema(fields, options),
    read(at) {
      if (!isObject(at.value)) return refuse(at, expectedOf(options));
      const written = writtenKeys(at, at.value, fields, options);
      const values: Record<string, unknown> = {};
      for (const [key, value] of written) {
        const result = fields[key]?.read(value);
        if (result !== undefined) values[key] = result;
      }
      const missing = options.required.filter((key) => !written.has(key));
      for (const key of missing) {
        at.in.report(at, {
          code: 'KEY_MISSING',
          message: `\`${key}\` is missing in ${options.of}.`,
          fix: `Add \`${key}\`.`,
        });
      }
      const isWhole = options.required.every((key) => values[key] !== undefined);
      return isWhole ? (values as unknown as WithRequired<F, R>) : undefined;
    },
  };
}

/** Returns the values by their keys in camelCase. Reports unknown and repeated keys. */
function writtenKeys<F extends SourceFields>(
  at: SourceValue,
  object: JsonObject,
  fields: F,
  { of, snakeCase = false }: ObjectOptions<string>,
): ReadonlyMap<string, SourceValue> {
  const written = new Map<string, SourceValue>();
  let unknown = 0;
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const key = snakeCase ? toCamelCase(name) : name;
    const child = childOf(at, name, value);
    if (!Object.hasOwn(fields, key)) {
      if (++unknown <= MAX_UNKNOWN_KEYS) reportUnknown(child, { name, of, keys: Object.keys(fields) });
    } else if (written.has(key)) {
      const message = `\`${key}\` is written in two spellings.`;
      at.in.report(child, { code: 'KEY_REPEATED', message, fix: 'Remove one of the two.', part: 'name' });
    } else written.set(key, child);
  }
  return written;
}

interface UnknownKey {
  readonly name: string;
  readonly of: string;
  readonly keys: readonly string[];
}

function reportUnknown(at: SourceValue, { name, of, keys }: UnknownKey): void {
  const near = closest(name, keys);
  at.in.report(at, {
    code: 'KEY_UNKNOWN',
    message: `\`${shownValue(name)}\` is not a key of ${of}.`,
    fix: near === undefined ? `Remove it; the keys are ${keys.join(', ')}.` : `Did you mean \`${near}\`?`,
    part: 'name',
  });
}

export const toCamelCase = (name: string): string =>
  name.replace(/(?<=[a-z])_([a-z])/g, (_, letter: string) => letter.toUpperCase());

const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function objectSchema(fields: SourceFields, { required, snakeCase = false, about }: ObjectOptions<string>): JsonObject {
  const spelt = (key: string) => [...new Set(snakeCase ? [key, toSnakeCase(key)] : [key])];
  const entries = Object.entries(fields).flatMap(([key, { schema }]) => spelt(key).map((name) => [name, schema]));
  const inTwo = required.filter((key) => spelt(key).length > 1);
  return {
    type: 'object',
    ...(about !== undefined && { description: about }),
    properties: Object.fromEntries(entries) as JsonObject,
    required: required.filter((key) => spelt(key).length === 1),
    ...(inTwo.length > 0 && {
      allOf: inTwo.map((key) => ({ anyOf: spelt(key).map((name) => ({ required: [name] })) })),
    }),
    additionalProperties: false,
  };
}

/** An object whose keys are names that the author chooses. */
export function recordField<T>(
  field: SourceField<T>,
  { max, of }: { max: number; of: string },
): SourceField<Readonly<Record<string, T>>> {
  return {
    schema: { type: 'object', additionalProperties: field.schema, maxProperties: max },
    read(at) {
      if (!isObject(at.value)) return refuse(at, `an object: ${of}`);
      const entries = Object.entries(at.value) as [string, Json][];
      if (entries.length > max) return refuse(at, `an object of up to ${max} keys`);
      return Object.fromEntries(
        entries.flatMap(([name, value]) => {
          const result = field.read(childOf(at, name, value));
          return result === undefined ? [] : [[name, result] as const];
        }),
      );
    },
  };
}
