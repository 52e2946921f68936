import { tests } from '@bufbuild/cel-spec/testdata/conformance.js';
import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Json, JsonObject } from '../core/call.ts';
import { compileExpression } from './compile-expression.ts';
import { conditionValues, conformanceValue, type Moved, moveToArguments } from './fixtures.ts';
import { compileValueExpression } from './value-expression.ts';

/** A result is equal, refused with an error, or different. Some expected values are not of JSON: bytes, messages, NaN. */
type Outcome = 'equal' | 'refused' | 'different' | 'notJson';
type Counts = readonly [equal: number, refused: number, different: number, notJson: number];

interface Case {
  readonly name: string;
  readonly expr: string;
  readonly bound: JsonObject;
  /** Absent if the data expects an error. */
  readonly want?: Json | undefined;
  readonly isError: boolean;
}

/** Evaluates a condition on the arguments. Returns undefined if it is refused. */
type Evaluate = (source: string, args: JsonObject) => boolean | undefined;

const asCondition: Evaluate = (source, args) => {
  const condition = compileExpression(source);
  const result = 'evaluate' in condition && condition.evaluate(conditionValues(args));
  return 'evaluate' in condition && typeof result === 'boolean' ? result : undefined;
};

const asValue: Evaluate = (source, args) => {
  const expression = compileValueExpression(source);
  const result = 'evaluate' in expression ? expression.evaluate({ input: args }) : undefined;
  return result && 'value' in result ? (result.value as boolean) : undefined;
};

function casesOf(suite: string): readonly Case[] {
  const groups = tests.suites?.find(({ name }) => name === suite)?.suites ?? [];
  return groups.flatMap((group) =>
    (group.tests ?? []).map(({ original }) => {
      const { name, expr, value, evalError, bindings = {} } = original as JsonObject & { readonly expr: string };
      const bound = Object.entries(bindings as Record<string, JsonObject>).map(([key, one]) => [
        key,
        conformanceValue(one.value),
      ]);
      const isError = evalError !== undefined;
      return {
        name: `${group.name}/${name}`,
        expr,
        bound: Object.fromEntries(bound),
        want: isError || value !== undefined ? conformanceValue(value) : true,
        isError,
      };
    }),
  );
}

function outcomeOf({ expr, bound, want, isError }: Case, moved: Moved, evaluate: Evaluate): Outcome {
  const root = evaluate === asValue ? 'scope["input"]' : 'args';
  if (Object.values(bound).includes(undefined as never) || (want === undefined && !isError)) return 'notJson';
  let result: boolean | undefined;
  try {
    const { source, args } = moveToArguments(expr, bound, { moved, root });
    result = isError
      ? evaluate(`[${source}] == []`, args)
      : evaluate(`(${source}) == ${root}.want`, { ...args, want: want as Json });
  } catch {
    result = undefined; // It cannot be parsed.
  }
  if (isError) return result === undefined ? 'equal' : 'different';
  if (result === undefined) return 'refused';
  return result ? 'equal' : 'different';
}

function run(evaluate: Evaluate, moved: Moved) {
  const counts: Record<string, Counts> = {};
  const different: string[] = [];
  for (const suite of SUITES) {
    const found: Record<Outcome, number> = { equal: 0, refused: 0, different: 0, notJson: 0 };
    for (const one of casesOf(suite)) {
      const outcome = outcomeOf(one, moved, evaluate);
      found[outcome]++;
      if (outcome === 'different') different.push(`${suite}: ${one.name}`);
    }
    counts[suite] = [found.equal, found.refused, found.different, found.notJson];
  }
  return { counts, different };
}

const SUITES = [
  ...['basic', 'comparisons', 'logic', 'lists', 'macros', 'string', 'integer_math', 'fp_math', 'fields'],
  'conversions',
];

// docs/guides/policies.md describes them. CEL rounds an integer before it compares it with a double, and has no `%` for doubles.
const KNOWN = [
  'comparisons: lt_literal/not_lt_dyn_int_big_lossy_double',
  'comparisons: gt_literal/not_gt_dyn_big_double_int',
  'comparisons: lte_literal/lte_dyn_big_double_int',
  'comparisons: gte_literal/gte_dyn_int_big_lossy_double',
  'fp_math: fp_math/mod_not_support',
];
// The numbers of JSON have one type.
const KNOWN_MOVED = [...KNOWN, 'conversions: type/neq_diff'];

const WRITTEN: Readonly<Record<string, Counts>> = {
  basic: [38, 2, 0, 3],
  comparisons: [289, 112, 4, 1],
  logic: [25, 5, 0, 0],
  lists: [38, 1, 0, 0],
  macros: [41, 3, 0, 0],
  string: [47, 0, 0, 4],
  integer_math: [64, 0, 0, 0],
  fp_math: [26, 0, 1, 3],
  fields: [46, 13, 0, 1],
  conversions: [77, 6, 0, 26],
};
const LEAVES: typeof WRITTEN = {
  ...WRITTEN,
  comparisons: [306, 95, 4, 1],
  logic: [30, 0, 0, 0],
  macros: [44, 0, 0, 0],
  conversions: [76, 6, 1, 26],
};
const WHOLE: typeof WRITTEN = {
  ...LEAVES,
  integer_math: [62, 2, 0, 0],
  fp_math: [24, 2, 1, 3],
  fields: [49, 10, 0, 1],
};

describe('the conformance data of CEL', () => {
  verifies('G3', 'gives no wrong value with the literals in the condition', () => {
    expect(run(asCondition, 'nothing')).toEqual({ counts: WRITTEN, different: KNOWN });
  });

  verifies('G3', 'gives no wrong value with each text and number in the arguments', () => {
    expect(run(asCondition, 'leaves')).toEqual({ counts: LEAVES, different: KNOWN_MOVED });
  });

  verifies('G3', 'gives no wrong value with whole lists and maps in the arguments', () => {
    expect(run(asCondition, 'whole')).toEqual({ counts: WHOLE, different: KNOWN_MOVED });
  });

  verifies('W2', 'gives no wrong value in the expressions of workflows', () => {
    expect(run(asValue, 'whole')).toEqual({ counts: WHOLE, different: KNOWN_MOVED });
  });
});
