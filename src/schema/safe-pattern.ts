import { createRequire } from 'node:module';
import { matchSteps, patternSize } from '../core/text/pattern-size.ts';
import type { StepBudget } from './step-budget.ts';

const require = createRequire(import.meta.url);

interface Pattern {
  test(text: string): boolean;
}

// Compiling takes about 10 µs per instruction: 200 ms for all patterns of one schema.
const MAX_INSTRUCTIONS = 20_000;

/**
 * Compiles the patterns of one schema, and matches them in linear time within the budget of a check.
 * Throws OverBudget when the texts of a check are too long together; skipping one would skip its rule.
 * Patterns with look-around or back-references, or too large ones, match every text; the server checks those.
 */
export function patternsOf(budget: StepBudget): (source: string) => Pattern {
  const known = new Map<string, Pattern>();
  let instructions = 0;

  function compiled(source: string): Pattern['test'] {
    instructions += patternSize(source);
    if (instructions > MAX_INSTRUCTIONS) return matchesAll;
    try {
      // Loaded with the first pattern, because most schemas have none.
      const { RE2JS } = require('re2js') as typeof import('re2js');
      const pattern = RE2JS.compile(RE2JS.translateRegExp(withShortNames(source)));
      const size = pattern.programSize();
      return (text) => {
        budget.take(1);
        budget.takePattern(matchSteps(text, size));
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
    const pattern = known.get(source) ?? { test: compiled(source) };
    known.set(source, pattern);
    return pattern;
  };
}

/** Replaces long names of Unicode categories, which the engine does not know: `\\p{Letter}` is `\\p{L}`. */
function withShortNames(source: string): string {
  return source.replace(PROPERTY, (_whole, letter: string, name: string) => {
    const short = Object.hasOwn(CATEGORIES, name) ? CATEGORIES[name] : name;
    return `\\${letter}{${short}}`;
  });
}

const PROPERTY = /\\([pP])\{(?:(?:General_Category|gc|Script|sc)=)?(\w+)\}/g;
const CATEGORIES: Readonly<Record<string, string>> = {
  ...{ Letter: 'L', Lowercase_Letter: 'Ll', Modifier_Letter: 'Lm', Other_Letter: 'Lo', Titlecase_Letter: 'Lt' },
  ...{ Uppercase_Letter: 'Lu', Mark: 'M', Combining_Mark: 'M', Spacing_Mark: 'Mc', Enclosing_Mark: 'Me' },
  ...{ Nonspacing_Mark: 'Mn', Number: 'N', Decimal_Number: 'Nd', digit: 'Nd', Letter_Number: 'Nl', Other_Number: 'No' },
  ...{ Punctuation: 'P', punct: 'P', Connector_Punctuation: 'Pc', Dash_Punctuation: 'Pd', Close_Punctuation: 'Pe' },
  ...{ Final_Punctuation: 'Pf', Initial_Punctuation: 'Pi', Other_Punctuation: 'Po', Open_Punctuation: 'Ps' },
  ...{ Symbol: 'S', Currency_Symbol: 'Sc', Modifier_Symbol: 'Sk', Math_Symbol: 'Sm', Other_Symbol: 'So' },
  ...{ Separator: 'Z', Line_Separator: 'Zl', Paragraph_Separator: 'Zp', Space_Separator: 'Zs', Other: 'C' },
  ...{ Control: 'Cc', cntrl: 'Cc', Format: 'Cf', Private_Use: 'Co', Surrogate: 'Cs' },
};
