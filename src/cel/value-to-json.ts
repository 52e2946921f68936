import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import type { Json } from '../core/call.ts';
import { isRawNumber, parseExact } from '../core/exact-numbers.ts';

/** The largest result of an expression, in bytes of its JSON. */
export const MAX_EXPRESSION_BYTES = 1024 * 1024;
const MAX_DEPTH = 200;

/** The error of a result that is no JSON or too large. Its message has no value of the run. */
export class ResultInvalid extends Error {}

/**
 * Converts a result of CEL to JSON. An integer over 2^53 stays exact. Times and durations become text, bytes base64, an
 * empty optional null. Returns its size, too. Throws ResultInvalid.
 */
export function valueToJson(
  value: unknown,
  maxBytes = MAX_EXPRESSION_BYTES,
): { readonly value: Json; readonly bytes: number } {
  let left = maxBytes;

  function take(bytes: number): void {
    left -= bytes;
    if (left < 0) throw new ResultInvalid(`its result is larger than ${maxBytes} bytes`);
  }

  function text(value: string): string {
    take(Buffer.byteLength(value) + 2);
    return value;
  }

  function convert(value: unknown, depth: number): Json {
    take(1);
    if (depth > MAX_DEPTH) throw new ResultInvalid('its result is nested too deeply');
    switch (typeof value) {
      case 'string':
        return text(value);
      case 'number':
        return finite(value);
      case 'bigint':
        return integer(value);
      case 'boolean':
        return value;
      case 'object':
        return value === null ? null : convertObject(value, depth + 1);
      default:
        throw new ResultInvalid('its result is not a JSON value');
    }
  }

  function convertObject(value: object, depth: number): Json {
    if (Array.isArray(value)) return convertList(value, depth);
    if (value instanceof Set) return convertList([...value], depth);
    if (isRawNumber(value)) return text(value.rawJSON) && (value as unknown as Json);
    if (value instanceof Map) return convertEntries([...value], depth);
    const special = toPlain(value);
    if (special !== undefined) return convert(special.value, depth);
    if (!isPlain(value)) throw new ResultInvalid('its result is not a JSON value');
    return convertEntries(Object.entries(value), depth);
  }

  function convertList(items: readonly unknown[], depth: number): Json {
    take(items.length);
    return items.map((item) => convert(item, depth));
  }

  function convertEntries(entries: readonly (readonly [unknown, unknown])[], depth: number): Json {
    // No assignment: a key named __proto__ stays a key.
    return Object.fromEntries(entries.map(([key, item]) => [text(String(key)), convert(item, depth)]));
  }

  const converted = convert(value, 0);
  return { value: converted, bytes: maxBytes - left };
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new ResultInvalid('its result is not a finite number');
  return value;
}

const integer = (value: bigint): Json =>
  Number.isSafeInteger(Number(value)) ? Number(value) : parseExact(String(value));

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
};

/** Returns the plain value of the evaluator's own types; undefined for other objects. */
function toPlain(value: object): { readonly value: unknown } | undefined {
  if (value instanceof Date) return { value: isoText(value) };
  if (value instanceof Duration) return { value: String(value) };
  if (value instanceof UnsignedInt) return { value: value.valueOf() };
  if (value instanceof Uint8Array) return { value: Buffer.from(value).toString('base64') };
  if (isOptional(value)) return { value: value.hasValue() ? value.value() : null };
  return undefined;
}

interface OptionalValue {
  hasValue(): boolean;
  value(): unknown;
}

// The evaluator does not export the class.
const isOptional = (value: object): value is OptionalValue =>
  Object.getPrototypeOf(value) !== Object.prototype && 'hasValue' in value && typeof value.hasValue === 'function';

function isoText(time: Date): string {
  if (Number.isNaN(time.getTime())) throw new ResultInvalid('its result is not a time');
  return time.toISOString();
}
