import type { Json, JsonObject } from '../core/call.ts';

const WORDS = new Set(['password', 'secret', 'token', 'key', 'delete', 'drop', 'destroy']);
// Cheap and never wrong when it says no: most arguments end here.
const MAYBE = /password|secret|token|key|delete|drop|destroy/i;
const MAX_VALUE_CHARS = 10_000;

/** What makes arguments look sensitive, in words. Names always count, values only where the tool may write. */
export function sensitiveWord(input: JsonObject, valuesToo: boolean): string | undefined {
  for (const [name, value] of Object.entries(input)) {
    const inName = wordIn(name);
    if (inName) return `the argument ${name} is named after “${inName}”`;
    const inside = sensitiveValue(value, valuesToo);
    if (inside) return inside;
  }
  return undefined;
}

function sensitiveValue(value: Json | undefined, valuesToo: boolean): string | undefined {
  if (typeof value === 'string') {
    const word = valuesToo ? wordIn(value.slice(0, MAX_VALUE_CHARS)) : undefined;
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
  if (!MAYBE.test(text)) return undefined;
  const words = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[^A-Za-z]+/);
  return words.map((word) => word.toLowerCase()).find((word) => WORDS.has(word));
}
