import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';

/** A shape in a dialect, and the decoding of its values. */
export interface Code {
  readonly schema: JsonObject;
  accepts(value: Json, effort: Effort): boolean;
  /** Returns a value that it does not accept unchanged; the check of the arguments reports it. */
  decode(value: Json, effort: Effort): Json;
}

/** Counts the work of one decoding, which nested alternatives would multiply. */
export interface Effort {
  spend(): void;
  /** Runs one level deeper, through a reference. */
  within<T>(run: () => T): T;
}

const MAX_STEPS = 200_000;
const MAX_DEPTH = 256;
const MAX_TEXT_DEPTH = 64;

export function newEffort(): Effort {
  let steps = 0;
  let depth = 0;
  return {
    spend() {
      if (++steps > MAX_STEPS) throw tooMuch();
    },
    within(run) {
      if (++depth > MAX_DEPTH) throw tooMuch();
      const result = run();
      depth--;
      return result;
    },
  };
}

const tooMuch = () =>
  new HeddleError('INPUT_INVALID', 'The arguments are too deep or fit too many alternatives to be read.', {
    fix: 'Call the tool with smaller arguments.',
  });

/** Makes a code whose values need no decoding. */
export const asIs = (schema: JsonObject, accepts: (value: Json) => boolean): Code => ({
  schema,
  accepts,
  decode: (value) => value,
});

/** Encodes a value that a dialect cannot describe as JSON text. */
export function jsonText(schema: JsonObject, only: 'object' | 'anything'): Code {
  const read = (text: string): Json => {
    try {
      return parseJson(text, { maxDepth: MAX_TEXT_DEPTH });
    } catch {
      // A text that is no JSON is used unchanged.
      return text;
    }
  };
  return {
    schema,
    accepts: (value) => typeof value === 'string' && (only === 'anything' || isObject(read(value))),
    decode: (value) => (typeof value === 'string' ? read(value) : value),
  };
}

/** Assigns a distinct text to each value that a dialect cannot list. */
export function enumTexts(values: readonly Json[]): Map<string, Json> {
  const texts = new Map<string, Json>();
  // Strings come first and keep their text; other values get a suffix on a clash.
  for (const value of values) if (typeof value === 'string' && value !== '') texts.set(value, value);
  for (const value of values) {
    if (typeof value === 'string' && value !== '') continue;
    let text = JSON.stringify(value);
    while (texts.has(text)) text = `(${text})`;
    texts.set(text, value);
  }
  return texts;
}

/** Encodes alternatives. The first that accepts a value decodes it. */
export function eitherOf(schema: JsonObject, codes: readonly Code[]): Code {
  const find = (value: Json, effort: Effort) => {
    effort.spend();
    return codes.find((code) => code.accepts(value, effort));
  };
  return {
    schema,
    accepts: (value, effort) => find(value, effort) !== undefined,
    decode(value, effort) {
      const code = find(value, effort);
      return code ? code.decode(value, effort) : value;
    },
  };
}
