import { BoundedMap } from '../core/bounded-map.ts';
import { nearestNumber } from '../core/exact-numbers.ts';
import { findTextTests } from './check-places.ts';
import { type CompiledSource, compileSource, MAX_PATTERN_INSTRUCTIONS, type PatternBudget } from './compile-source.ts';
import {
  type Condition,
  type ConditionResult,
  type ConditionValues,
  type ConditionVariable,
  VARIABLES,
} from './condition.ts';
import { convertOnce } from './convert-once.ts';
import { describeFailure, type ExpressionProblem, suggestion } from './describe-error.ts';
import { declareConditionVariables, type MeteredEnvironment, openEnvironment } from './environment.ts';
import { exactInteger, isRoundedFraction } from './exact/mixed-numbers.ts';
import { findUnguarded } from './find-unguarded.ts';
import type { SyntaxNode } from './meter.ts';
import { walk } from './syntax.ts';
import { dependsOnUnknown, roundedNumber } from './unknown-value.ts';

const MAX_KNOWN = 20_000;

let opened: MeteredEnvironment | undefined;
const known = new BoundedMap<string, Condition | ExpressionProblem>(MAX_KNOWN);

/**
 * Compiles a condition: parses it, checks its types and its limits. Returns a problem with its place if it is wrong.
 * Results are kept by source, so that a reload compiles only changed conditions.
 */
export function compileExpression(
  source: string,
  budget: PatternBudget = { left: MAX_PATTERN_INSTRUCTIONS },
): Condition | ExpressionProblem {
  const found = known.get(source);
  if (found && 'message' in found) return found;
  if (found && found.patternInstructions <= budget.left) {
    budget.left -= found.patternInstructions;
    return found;
  }
  const isWhole = budget.left >= MAX_PATTERN_INSTRUCTIONS;
  const result = compile(source, budget);
  // A problem that depends on the other rules is not kept.
  if ('evaluate' in result || isWhole) known.set(source, result);
  return result;
}

function compile(source: string, budget: PatternBudget): Condition | ExpressionProblem {
  opened ??= openEnvironment(declareConditionVariables);
  let warnings: readonly ExpressionProblem[] = [];
  const compiled = compileSource(opened, source, {
    budget,
    suggestName: (name) => suggestion(name, VARIABLES),
    prepare(root) {
      warnings = findTextTests(root, source);
      return undefined;
    },
  });
  if ('message' in compiled) return compiled;
  const { type, root, run, patternInstructions } = compiled;
  if (type !== 'bool') return { message: `it is of type ${type}, not bool`, fix: 'Write a condition.', offset: 0 };
  return { ...toCondition(source, root, run), warnings, patternInstructions };
}

function toCondition(
  source: string,
  root: SyntaxNode,
  run: CompiledSource['run'],
): Omit<Condition, 'warnings' | 'patternInstructions'> {
  const { meter } = opened as MeteredEnvironment;
  const variables = new Set<ConditionVariable>();
  walk(root, (node) => {
    if (node.op === 'id' && isVariable(node.args)) variables.add(node.args);
  });
  const unguarded = findUnguarded(root);

  function evaluate(values: ConditionValues): ConditionResult {
    meter.reset(values.budget?.left);
    try {
      const result = run({ ...values, args: plainArguments(values.args) });
      if (meter.isExhausted) return { failure: 'it takes too many steps' };
      return typeof result === 'boolean' ? result : { failure: 'its result is not true or false' };
    } catch (thrown) {
      if (meter.isExhausted) return { failure: 'it takes too many steps' };
      if (thrown === dependsOnUnknown) return { failure: dependsOnUnknown.message, isUnknown: true };
      return { failure: describeFailure(thrown, source) };
    } finally {
      if (values.budget) values.budget.left -= meter.used;
    }
  }

  return { source, variables, ...(unguarded && { unguardedAt: unguarded.start }), evaluate };
}

const isVariable = (name: unknown): name is ConditionVariable => VARIABLES.includes(name as ConditionVariable);

/** An integer that a double cannot hold stays exact: a rule must not take an account for its neighbour. */
const exactNumber = (source: string) =>
  exactInteger(source) ?? (isRoundedFraction(source) ? roundedNumber : nearestNumber(source));

/** Converts the numbers of a call's arguments once, for all its rules. */
const plainArguments = convertOnce(exactNumber);
