import { createRequire } from 'node:module';
import type { StepBudget } from './step-budget.ts';

const require = createRequire(import.meta.url);

interface Pattern {
  test(text: string): boolean;
  /** Ajv compares patterns by this text. */
  toString(): string;
}

// Compiling takes about 10 µs per instruction: 200 ms for all patterns of one schema.
const MAX_INSTRUCTIONS = 20_000;
const COUNTED_REPEAT = /(\)?)\{(\d+)(?:,(\d*))?\}/g;
// The regular expression engine refuses larger repeats; nested ones are multiplied.
const MAX_REPEAT = 1_000;

/**
 * Compiles the patterns of one schema, and matches them in linear time within the budget of a check.
 * Throws OverBudget when the texts of a check are too long together; skipping one would skip its rule.
 * Patterns with look-around or back-references, or too large ones, match every text; the server checks those.
 */
export function patternsOf(budget: StepBudget): (source: string) => Pattern {
  const known = new Map<string, Pattern>();
  let instructions = 0;

  function compiled(source: string): Pattern['test'] {
    instructions += largestSize(source);
    if (instructions > MAX_INSTRUCTIONS) return matchesAll;
    try {
      // Loaded with the first pattern, because most schemas have none.
      const { RE2JS } = require('re2js') as typeof import('re2js');
      const pattern = RE2JS.compile(RE2JS.translateRegExp(source));
      const size = pattern.programSize();
      return (text) => {
        budget.take(1);
        budget.takePattern(text.length * size);
        // `test` is not used: the state machine that it builds can take ten times as long.
        return pattern.matcher(text).find();
      };
    } catch {
      return matchesAll;
    }
  }

  function matchesAll(): boolean {
    budget.take(1);
    return true;
  }

  return function patternOf(source) {
    const pattern = known.get(source) ?? { test: compiled(source), toString: () => source };
    known.set(source, pattern);
    return pattern;
  };
}

/** Estimates an upper bound of the instructions that a pattern compiles to. Counted repeats are written out. */
function largestSize(source: string): number {
  let single = source.length;
  let groups = 1;
  for (const [, closed, least = '', most = ''] of source.matchAll(COUNTED_REPEAT)) {
    const count = Math.min(MAX_REPEAT, Math.max(Number(least), Number(most), 1));
    if (closed) groups = Math.min(MAX_REPEAT, groups * count);
    else single += count;
  }
  return single * groups;
}
