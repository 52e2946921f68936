import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

/** Translates the references in one text to the other syntax; undefined if it cannot. `part` is its name in a map. */
export type Translate = (text: string, part?: string) => string | undefined;

/** Converts one field between a host and Heddle. Undefined means that a value cannot be converted. */
export interface Codec {
  /** The expected type, for the message about another one. */
  readonly expects: string;
  accepts(value: Json): boolean;
  from(value: Json, translate: Translate): Json | undefined;
  to(value: Json, translate: Translate): Json | undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: Json): value is readonly string[] => Array.isArray(value) && value.every(isText);
const isMap = (value: Json): value is Readonly<Record<string, string>> =>
  isObject(value) && Object.values(value).every(isText);
const asIs = (value: Json): Json => value;

function each(texts: readonly string[], translate: Translate): readonly string[] | undefined {
  const translated = texts.map((text) => translate(text));
  return translated.includes(undefined) ? undefined : (translated as string[]);
}

const oneText = (value: Json, translate: Translate) => translate(value as string);
const allTexts = (value: Json, translate: Translate) => each(value as readonly string[], translate);

/** Translates the values of a map. A value that cannot be translated is dropped alone. */
function eachNamed(value: Json, translate: Translate): JsonObject {
  return Object.fromEntries(
    Object.entries(value as Record<string, string>).flatMap(([name, text]) => {
      const translated = translate(text, name);
      return translated === undefined ? [] : [[name, translated]];
    }),
  );
}

const positive = (value: number): number | undefined => (Number.isSafeInteger(value) && value > 0 ? value : undefined);

export const CODECS = {
  text: { expects: 'a string', accepts: isText, from: oneText, to: oneText },
  texts: { expects: 'an array of strings', accepts: isTexts, from: allTexts, to: allTexts },
  map: { expects: 'an object of strings', accepts: isMap, from: eachNamed, to: eachNamed },
  /** Numbers as text, and null for "not set". */
  looseMap: {
    expects: 'an object of strings, numbers or null',
    accepts: (value) => isObject(value) && Object.values(value).every((one) => one === null || !isNested(one)),
    from: (value, translate) =>
      eachNamed(
        Object.fromEntries(
          Object.entries(value as JsonObject).flatMap(([name, one]) => (one === null ? [] : [[name, String(one)]])),
        ),
        translate,
      ),
    to: eachNamed,
  },
  /** A text without references. */
  literal: { expects: 'a string', accepts: isText, from: asIs, to: asIs },
  literals: { expects: 'an array of strings', accepts: isTexts, from: asIs, to: asIs },
  flag: { expects: 'true or false', accepts: (value) => typeof value === 'boolean', from: asIs, to: asIs },
  inverse: {
    expects: 'true or false',
    accepts: (value) => typeof value === 'boolean',
    from: (value) => !value,
    to: (value) => !value,
  },
  number: { expects: 'a number', accepts: (value) => typeof value === 'number', from: asIs, to: asIs },
  milliseconds: {
    expects: 'a number of milliseconds',
    accepts: (value) => typeof value === 'number',
    from: (value) => positive(Math.round(value as number)),
    to: asIs,
  },
  seconds: {
    expects: 'a number of seconds',
    accepts: (value) => typeof value === 'number',
    from: (value) => positive(Math.round((value as number) * 1000)),
    to: (value) => (value as number) / 1000,
  },
  /** An array in Heddle, and a text with spaces between the items in the host. */
  joined: {
    expects: 'a string',
    accepts: isText,
    from: (value, translate) => each((value as string).split(/\s+/).filter(Boolean), translate),
    to: (value, translate) => {
      const translated = allTexts(value, translate);
      return translated?.every((item) => /^\S+$/.test(item)) && translated.length > 0
        ? translated.join(' ')
        : undefined;
    },
  },
} as const satisfies Record<string, Codec>;

export type Kind = keyof typeof CODECS;

function isNested(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null;
}
