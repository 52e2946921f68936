import type { Call, Json, JsonObject } from '../core/call.ts';

/** Words that make a call look sensitive. */
interface Words {
  readonly any: RegExp;
  readonly all: RegExp;
}

// Words that count only after a qualifier: `apiKey` is a secret, `cacheKey` is none.
const qualified = (words: string) =>
  `(?<=(?:api|private|secret|access|auth|signing|encryption|master|ssh)[\\W_]{0,3})(?:${words})`;
const wordsOf = (source: string): Words => ({ any: new RegExp(source, 'i'), all: new RegExp(source, 'gi') });

const ARGUMENT_WORDS = wordsOf(`password|secret|token|credential|delete|drop|destroy|${qualified('key')}`);
// Clients and tracers put routine names such as `tokenBudget` there.
const META_WORDS = wordsOf(`password|secret|credential|delete|drop|destroy|${qualified('key|token')}`);

/** Everything of a call that its client chooses and its server receives. */
export type Sent = Pick<Call, 'input'> & Partial<Pick<Call, 'meta' | 'extraParams'>>;

/** Says why a call looks sensitive, with the part of it that does. */
export function sensitiveIn({ input, meta, extraParams }: Sent, valuesToo: boolean): string | undefined {
  const inInput = sensitiveWord(input, valuesToo);
  if (inInput) return `Its arguments look sensitive: ${inInput}.`;
  const inMeta = meta && sensitiveWord(meta, valuesToo, META_WORDS);
  if (inMeta) return `Its \`_meta\` looks sensitive: ${inMeta}.`;
  const inBeside = extraParams && sensitiveWord(extraParams, valuesToo);
  return inBeside && `Its unknown parameters look sensitive: ${inBeside}.`;
}

/** Says in words why arguments look sensitive. Names always count, values only where the tool may write. */
export function sensitiveWord(input: JsonObject, valuesToo: boolean, words = ARGUMENT_WORDS): string | undefined {
  for (const [name, value] of Object.entries(input)) {
    const inName = wordIn(name, words);
    if (inName) return `${name} is named after “${inName}”`;
    const inside = sensitiveValue(value, valuesToo, words);
    if (inside) return inside;
  }
  return undefined;
}

function sensitiveValue(value: Json | undefined, valuesToo: boolean, words: Words): string | undefined {
  if (typeof value === 'string') {
    const word = valuesToo ? wordIn(value, words) : undefined;
    return word && `a value contains “${word}”`;
  }
  if (Array.isArray(value)) {
    for (const item of value) {
      const found = sensitiveValue(item, valuesToo, words);
      if (found) return found;
    }
    return undefined;
  }
  return typeof value === 'object' && value !== null ? sensitiveWord(value as JsonObject, valuesToo, words) : undefined;
}

/** Returns the first of the words in a text. Whole words only, after splitting camelCase, snake_case and punctuation: `apiKey` has one, `monkey` has none. */
function wordIn(text: string, { any, all }: Words): string | undefined {
  if (!any.test(text)) return undefined; // Most texts have none, and to look for all is dear.
  for (const { 0: word, index } of text.matchAll(all)) {
    if (isBoundary(text, index) && isBoundary(text, index + word.length)) return word.toLowerCase();
  }
  return undefined;
}

/** Returns true if a word begins at `at`, or the one before it ends there. Looks at three letters, so a long text costs little. */
function isBoundary(text: string, at: number): boolean {
  const [before = '', after = '', next = ''] = [text[at - 1], text[at], text[at + 1]];
  if (!/[A-Za-z]/.test(before) || !/[A-Za-z]/.test(after)) return true;
  const isUpper = /[A-Z]/.test(after);
  return isUpper && (/[a-z]/.test(before) || /[a-z]/.test(next)); // `apiKey`, and `APIKey`.
}
