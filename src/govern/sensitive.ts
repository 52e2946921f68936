import type { Call, Json, JsonObject } from '../core/call.ts';

/** The pattern of words that make a call look sensitive, without and with the `g` flag. */
interface WordPattern {
  readonly any: RegExp;
  readonly all: RegExp;
}

// Words that count only after a qualifier: `apiKey` is a secret, `cacheKey` is none.
const qualified = (words: string) =>
  `(?<=(?:api|private|secret|access|auth|signing|encryption|master|ssh)[\\W_]{0,3})(?:${words})`;
const toPattern = (source: string): WordPattern => ({ any: new RegExp(source, 'i'), all: new RegExp(source, 'gi') });

const ARGUMENT_WORDS = toPattern(`password|secret|token|credential|delete|drop|destroy|${qualified('key')}`);
// Clients and tracers put routine names such as `tokenBudget` into `_meta`.
const META_WORDS = toPattern(`password|secret|credential|delete|drop|destroy|${qualified('key|token')}`);

/** The parts of a call that the client chooses and the server receives. */
export type Sent = Pick<Call, 'input'> & Partial<Pick<Call, 'meta' | 'extraParams'>>;

/** Returns the reason why a call looks sensitive, or undefined. The reason names the part of the call. */
export function sensitiveIn({ input, meta, extraParams }: Sent, valuesToo: boolean): string | undefined {
  const inInput = sensitiveWord(input, valuesToo);
  if (inInput) return `Its arguments look sensitive: ${inInput}.`;
  const inMeta = meta && sensitiveWord(meta, valuesToo, META_WORDS);
  if (inMeta) return `Its \`_meta\` looks sensitive: ${inMeta}.`;
  const inExtraParams = extraParams && sensitiveWord(extraParams, valuesToo);
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
  for (const { 0: word, index } of text.matchAll(all)) {
    if (isBoundary(text, index) && isBoundary(text, index + word.length)) return word.toLowerCase();
  }
  return undefined;
}

/** Returns true if a word begins or ends at `at`. Reads three characters, so a long text costs little. */
function isBoundary(text: string, at: number): boolean {
  const [before = '', after = '', next = ''] = [text[at - 1], text[at], text[at + 1]];
  if (!/[A-Za-z]/.test(before) || !/[A-Za-z]/.test(after)) return true;
  const isUpper = /[A-Z]/.test(after);
  return isUpper && (/[a-z]/.test(before) || /[a-z]/.test(next)); // `apiKey`, and `APIKey`.
}
