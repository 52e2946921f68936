import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

/** Says one text in the other side's words; undefined when it cannot. `part` names it within its field. */
export type Translate = (text: string, part?: string) => string | undefined;

/** How one field goes from a host to Heddle and back. Undefined: it cannot. */
export interface Codec {
  /** What the host writes there, for the message when it is something else. */
  readonly expects: string;
  fits(value: Json): boolean;
  from(value: Json, translate: Translate): Json | undefined;
  to(value: Json, translate: Translate): Json | undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: Json): value is readonly string[] => Array.isArray(value) && value.every(isText);
const isMap = (value: Json): value is Readonly<Record<string, string>> =>
  isObject(value) && Object.values(value).every(isText);
const asIs = (value: Json): Json => value;

function each(texts: readonly string[], translate: Translate): readonly string[] | undefined {
  const said = texts.map((text) => translate(text));
  return said.includes(undefined) ? undefined : (said as string[]);
}

const oneText = (value: Json, translate: Translate) => translate(value as string);
const allTexts = (value: Json, translate: Translate) => each(value as readonly string[], translate);

/** A name whose text cannot be said is left out alone: the others still hold. */
function eachNamed(value: Json, translate: Translate): JsonObject {
  return Object.fromEntries(
    Object.entries(value as Record<string, string>).flatMap(([name, text]) => {
      const said = translate(text, name);
      return said === undefined ? [] : [[name, said]];
    }),
  );
}

const positive = (value: number): number | undefined => (Number.isSafeInteger(value) && value > 0 ? value : undefined);

export const CODECS = {
  text: { expects: 'a string', fits: isText, from: oneText, to: oneText },
  texts: { expects: 'an array of strings', fits: isTexts, from: allTexts, to: allTexts },
  map: { expects: 'an object of strings', fits: isMap, from: eachNamed, to: eachNamed },
  /** Numbers as text, and null for "not set". */
  looseMap: {
    expects: 'an object of strings, numbers or null',
    fits: (value) => isObject(value) && Object.values(value).every((one) => one === null || !isNested(one)),
    from: (value, translate) =>
      eachNamed(
        Object.fromEntries(
          Object.entries(value as JsonObject).flatMap(([name, one]) => (one === null ? [] : [[name, String(one)]])),
        ),
        translate,
      ),
    to: eachNamed,
  },
  /** A text that nothing is ever put into. */
  word: { expects: 'a string', fits: isText, from: asIs, to: asIs },
  words: { expects: 'an array of strings', fits: isTexts, from: asIs, to: asIs },
  flag: { expects: 'true or false', fits: (value) => typeof value === 'boolean', from: asIs, to: asIs },
  inverse: {
    expects: 'true or false',
    fits: (value) => typeof value === 'boolean',
    from: (value) => !value,
    to: (value) => !value,
  },
  number: { expects: 'a number', fits: (value) => typeof value === 'number', from: asIs, to: asIs },
  milliseconds: {
    expects: 'a number of milliseconds',
    fits: (value) => typeof value === 'number',
    from: (value) => positive(Math.round(value as number)),
    to: asIs,
  },
  seconds: {
    expects: 'a number of seconds',
    fits: (value) => typeof value === 'number',
    from: (value) => positive(Math.round((value as number) * 1000)),
    to: (value) => (value as number) / 1000,
  },
  /** Several words in one text, with spaces between them. */
  joined: {
    expects: 'a string',
    fits: isText,
    from: (value, translate) => each((value as string).split(/\s+/).filter(Boolean), translate),
    to: (value, translate) => {
      const said = allTexts(value, translate);
      return said?.every((word) => /^\S+$/.test(word)) && said.length > 0 ? said.join(' ') : undefined;
    },
  },
} as const satisfies Record<string, Codec>;

export type Kind = keyof typeof CODECS;

function isNested(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null;
}
