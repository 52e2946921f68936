import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';

/** A shape as a dialect writes it, and how a value written that way becomes one of the original's. */
export interface Code {
  readonly schema: JsonObject;
  accepts(value: Json, effort: Effort): boolean;
  /** Gives back what it does not accept as it is: whoever checks the arguments explains it better. */
  decode(value: Json, effort: Effort): Json;
}

/** Counts the work of one decoding: alternatives inside alternatives would multiply it. */
export interface Effort {
  spend(): void;
  /** One level deeper, through a reference. */
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

/** A code whose values are the original's own. */
export const asIs = (schema: JsonObject, accepts: (value: Json) => boolean): Code => ({
  schema,
  accepts,
  decode: (value) => value,
});

/** A value that a dialect cannot describe, written as JSON text. */
export function jsonText(schema: JsonObject, only: 'object' | 'anything'): Code {
  const read = (text: string): Json => {
    try {
      return parseJson(text, { maxDepth: MAX_TEXT_DEPTH });
    } catch {
      // Not JSON: then it is meant as the text that it is.
      return text;
    }
  };
  return {
    schema,
    accepts: (value) => typeof value === 'string' && (only === 'anything' || isObject(read(value))),
    decode: (value) => (typeof value === 'string' ? read(value) : value),
  };
}

/** Values that a dialect cannot list, each under a text of its own. */
export function enumTexts(values: readonly Json[]): Map<string, Json> {
  const texts = new Map<string, Json>();
  // Texts come first and keep their own spelling; others step aside.
  for (const value of values) if (typeof value === 'string' && value !== '') texts.set(value, value);
  for (const value of values) {
    if (typeof value === 'string' && value !== '') continue;
    let text = JSON.stringify(value);
    while (texts.has(text)) text = `(${text})`;
    texts.set(text, value);
  }
  return texts;
}

/** Alternatives: the first that accepts a value decodes it. */
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
