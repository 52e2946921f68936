import { RE2JS } from 're2js';

// Linear is not yet fast: the steps per character grow with the pattern.
const MAX_STEPS = 10_000_000;
const MAX_CHARS = 2_000;

/**
 * A pattern that a schema from outside asks for, matched in linear time; undefined when that cannot be done
 * (look-around, back-references, or much too long).
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
