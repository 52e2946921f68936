import type { Taint } from '../core/call/facts.ts';
import type { Call, Json, JsonObject } from '../core/call.ts';

/** Words that make a call look sensitive: one pattern that finds any, and patterns with the `g` flag for each match. */
interface WordPattern {
  readonly any: RegExp;
  readonly all: readonly RegExp[];
}

// Words that count only after a qualifier: `apiKey` is a secret, `cacheKey` is none.
const qualified = (words: string) =>
  `(?<=(?:api|private|secret|access|auth|signing|encryption|master|ssh)[\\W_]{0,3})(?:${words})`;
const toPattern = (...sources: readonly string[]): WordPattern => ({
  any: new RegExp(sources.join('|'), 'i'),
  all: sources.map((source) => new RegExp(source, 'gi')),
});

const ARGUMENT_WORDS = toPattern(`password|secret|token|credential|delete|drop|destroy|${qualified('key')}`);
// Clients and tracers put routine names such as `tokenBudget` into `_meta`.
const META_WORDS = toPattern(`password|secret|credential|delete|drop|destroy|${qualified('key|token')}`);

/** The patterns for the parts of a call. */
interface SensitiveWords {
  readonly inArguments: WordPattern;
  readonly inMeta: WordPattern;
}

const BUILT_IN_WORDS: SensitiveWords = { inArguments: ARGUMENT_WORDS, inMeta: META_WORDS };

/** Returns the patterns of `approvals.sensitiveWords`; undefined if there are none. These words need no qualifier. */
export function addedWords(words: readonly string[]): SensitiveWords | undefined {
  if (words.length === 0) return undefined;
  // One pattern per word: in `cardNumbers` the word `cardNumber` must not hide the whole word `card`.
  const pattern = toPattern(...words);
  return { inArguments: pattern, inMeta: pattern };
}

/** The parts of a call that the client chooses and the server receives, and the state of its session. */
export interface Sent extends Pick<Call, 'input'>, Partial<Pick<Call, 'kind' | 'meta' | 'extraParams'>> {
  readonly taint?: readonly Taint[];
  /** The time of the call, in milliseconds. Now, if absent. */
  readonly time?: number;
}

/** Returns the reason why a call looks sensitive, or undefined. The reason names the part of the call. */
export function sensitiveIn(
  { input, meta, extraParams }: Sent,
  valuesToo: boolean,
  words: SensitiveWords = BUILT_IN_WORDS,
): string | undefined {
  const inInput = sensitiveWord(input, valuesToo, words.inArguments);
  if (inInput) return `Its arguments look sensitive: ${inInput}.`;
  const inMeta = meta && sensitiveWord(meta, valuesToo, words.inMeta);
  if (inMeta) return `Its \`_meta\` looks sensitive: ${inMeta}.`;
  const inExtraParams = extraParams && sensitiveWord(extraParams, valuesToo, words.inArguments);
  return inExtraParams && `Its unknown parameters look sensitive: ${inExtraParams}.`;
}

/** Returns the reason why arguments look sensitive. Names always count, values only if the tool may write. */
export function sensitiveWord(input: JsonObject, valuesToo: boolean, pattern = ARGUMENT_WORDS): string | undefined {
  for (const [name, value] of Object.entries(input)) {
    const inName = wordIn(name, pattern);
    if (inName) return `${name} is named after “${inName}”`;
    const inside = sensitiveValue(value, valuesToo, pattern);
    if (inside) return inside;
  }
  return undefined;
}

function sensitiveValue(value: Json | undefined, valuesToo: boolean, pattern: WordPattern): string | undefined {
  if (typeof value === 'string') {
    const word = valuesToo ? wordIn(value, pattern) : undefined;
    return word && `a value contains “${word}”`;
  }
  if (Array.isArray(value)) {
    for (const item of value) {
      const found = sensitiveValue(item, valuesToo, pattern);
      if (found) return found;
    }
    return undefined;
  }
  return typeof value === 'object' && value !== null
    ? sensitiveWord(value as JsonObject, valuesToo, pattern)
    : undefined;
}

/**
 * Returns the first sensitive word of a text. Only whole words count, after splitting camelCase, snake_case and
 * punctuation: `apiKey` has one, `monkey` has none.
 */
function wordIn(text: string, { any, all }: WordPattern): string | undefined {
  if (!any.test(text)) return undefined; // Most texts have none, and `matchAll` is slow.
  for (const pattern of all) {
    for (const { 0: word, index } of text.matchAll(pattern)) {
      if (isBoundary(text, index) && isBoundary(text, index + word.length)) return word.toLowerCase();
    }
  }
  return undefined;
}

/** Returns true if a word begins or ends at `at`. Reads three characters, so a long text costs little. */
function isBoundary(text: string, at: number): boolean {
  const [before = '', after = '', next = ''] = [text[at - 1], text[at], text[at + 1]];
  if (!/\p{L}/u.test(before) || !/\p{L}/u.test(after)) return true;
  const isUpper = /\p{Lu}/u.test(after);
  return isUpper && (/\p{Ll}/u.test(before) || /\p{Ll}/u.test(next)); // `apiKey`, and `APIKey`.
}
