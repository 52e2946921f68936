import type { Call, Json, JsonObject } from '../core/call.ts';

const WORD = /password|secret|token|key|delete|drop|destroy/gi;
const ANY_WORD = new RegExp(WORD, 'i');

/** Everything of a call that its client chooses and its server receives. */
export type Sent = Pick<Call, 'input'> & Partial<Pick<Call, 'meta' | 'beside'>>;

/** Says why a call looks sensitive, with the part of it that does. */
export function sensitiveIn({ input, meta, beside }: Sent, valuesToo: boolean): string | undefined {
  const inInput = sensitiveWord(input, valuesToo);
  if (inInput) return `Its arguments look sensitive: ${inInput}.`;
  const inMeta = meta && sensitiveWord(meta, valuesToo);
  if (inMeta) return `Its \`_meta\` looks sensitive: ${inMeta}.`;
  const inBeside = beside && sensitiveWord(beside, valuesToo);
  return inBeside && `Its unknown parameters look sensitive: ${inBeside}.`;
}

/** What makes arguments look sensitive, in words. Names always count, values only where the tool may write. */
export function sensitiveWord(input: JsonObject, valuesToo: boolean): string | undefined {
  for (const [name, value] of Object.entries(input)) {
    const inName = wordIn(name);
    if (inName) return `${name} is named after “${inName}”`;
    const inside = sensitiveValue(value, valuesToo);
    if (inside) return inside;
  }
  return undefined;
}

function sensitiveValue(value: Json | undefined, valuesToo: boolean): string | undefined {
  if (typeof value === 'string') {
    const word = valuesToo ? wordIn(value) : undefined;
    return word && `a value contains “${word}”`;
  }
  if (Array.isArray(value)) {
    for (const item of value) {
      const found = sensitiveValue(item, valuesToo);
      if (found) return found;
    }
    return undefined;
  }
  return typeof value === 'object' && value !== null ? sensitiveWord(value as JsonObject, valuesToo) : undefined;
}

/** Whole words only, after splitting camelCase, snake_case and punctuation: `apiKey` has one, `monkey` has none. */
function wordIn(text: string): string | undefined {
  if (!ANY_WORD.test(text)) return undefined; // Most texts have none, and to look for all is dear.
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (isBoundary(text, index) && isBoundary(text, index + word.length)) return word.toLowerCase();
  }
  return undefined;
}

/** Whether a word begins at `at`, or the one before it ends there. Looks at three letters, so a long text costs little. */
function isBoundary(text: string, at: number): boolean {
  const [before = '', after = '', next = ''] = [text[at - 1], text[at], text[at + 1]];
  if (!/[A-Za-z]/.test(before) || !/[A-Za-z]/.test(after)) return true;
  const isUpper = /[A-Z]/.test(after);
  return isUpper && (/[a-z]/.test(before) || /[a-z]/.test(next)); // `apiKey`, and `APIKey`.
}
