import { RE2JS } from 're2js';

interface Pattern {
  test(text: string): boolean;
}

const ANYTHING: Pattern = { test: () => true };

/**
 * A pattern from outside, matched in linear time. What that cannot express
 * (look-around, back-references) is left to the server, which checks it anyway.
 */
export function safePattern(source: string): Pattern {
  try {
    const compiled = RE2JS.compile(source);
    return { test: (text) => compiled.matcher(text).find() };
  } catch {
    return ANYTHING;
  }
}
