import { createRequire } from 'node:module';
import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { toLinearSyntax } from '../core/text/linear-syntax.ts';
import { matchSteps, patternSize } from '../core/text/pattern-size.ts';
import { brokenLimit } from './schema-limits.ts';
import { checkBudget, type StepBudget } from './step-budget.ts';

const require = createRequire(import.meta.url);

interface Pattern {
  test(text: string): boolean;
  /** False if it is not supported or too large: then it matches every text. */
  readonly isChecked: boolean;
}

// Compiling takes about 10 µs per instruction: 200 ms for all patterns of one schema.
const MAX_INSTRUCTIONS = 20_000;

/**
 * Compiles the patterns of one schema, and matches them in linear time within the budget of a check.
 * Throws OverBudget when the texts of a check are too long together; skipping one would skip its rule.
 * Patterns with look-around or back-references, invalid and too large ones match every text; the server checks those.
 */
export function patternsOf(budget: StepBudget): (source: string) => Pattern {
  const known = new Map<string, Pattern>();
  let instructions = 0;

  function compiled(source: string): Pattern {
    instructions += patternSize(source);
    if (instructions > MAX_INSTRUCTIONS) return unchecked;
    try {
      const syntax = toLinearSyntax(source);
      if (syntax === undefined) return unchecked;
      // Loaded with the first pattern, because most schemas have none.
      const { RE2JS } = require('re2js') as typeof import('re2js');
      const pattern = RE2JS.compile(syntax);
      const size = pattern.programSize();
      const test = (text: string): boolean => {
        budget.take(1);
        budget.takePattern(matchSteps(text, size));
        // `test` is not used: the state machine that it builds can take ten times as long.
        return pattern.matcher(text).find();
      };
      return { test, isChecked: true };
    } catch {
      return unchecked;
    }
  }

  const unchecked: Pattern = {
    test() {
      budget.take(1);
      return true;
    },
    isChecked: false,
  };

  return function patternOf(source) {
    const pattern = known.get(source) ?? compiled(source);
    known.set(source, pattern);
    return pattern;
  };
}

// Values and not schemas.
const VALUES: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);

/** Lists the patterns of a schema that are not checked, because they match in no linear time, are invalid or too large. */
export function uncheckedPatterns(schema: Json | undefined): readonly string[] {
  if (!isObject(schema) || brokenLimit(schema)) return [];
  const patternOf = patternsOf(checkBudget());
  return [...new Set(sourcesIn(schema))].filter((source) => !patternOf(source).isChecked);
}

function* sourcesIn(value: Json | undefined): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* sourcesIn(item);
  if (!isObject(value)) return;
  const { pattern, patternProperties } = value as JsonObject;
  if (typeof pattern === 'string') yield pattern;
  if (isObject(patternProperties)) yield* Object.keys(patternProperties);
  for (const [key, part] of Object.entries(value)) if (!VALUES.has(key)) yield* sourcesIn(part);
}
