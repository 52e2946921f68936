import { RE2JS } from 're2js';

// Linear time can still be slow: the steps per character grow with the pattern.
const MAX_STEPS = 10_000_000;
const MAX_CHARS = 2_000;

/**
 * Compiles an untrusted pattern that is matched in linear time. Returns undefined for look-around,
 * back-references and patterns that are too long.
 */
export function linearPattern(source: string): ((text: string) => boolean) | undefined {
  if (source.length > MAX_CHARS) return undefined;
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source));
    const size = compiled.programSize();
    return (text) => text.length * size > MAX_STEPS || compiled.matcher(text).find();
  } catch {
    return undefined;
  }
}
