import { BoundedMap } from '../core/bounded-map.ts';
import { nearestNumber, withPlainNumbers } from '../core/exact-numbers.ts';
import { patternSize } from '../core/text/pattern-size.ts';
import {
  type Condition,
  type ConditionResult,
  type ConditionValues,
  type ConditionVariable,
  VARIABLES,
} from './condition.ts';
import { describeCompileError, describeFailure, type ExpressionProblem } from './describe-error.ts';
import { LINEAR_MATCHES, type MeteredEnvironment, openEnvironment } from './environment.ts';
import { findUnguarded } from './find-unguarded.ts';
import type { SyntaxNode } from './meter.ts';
import { compilePattern } from './safe-matches.ts';
import { findTooDeep, methodCall, walk } from './syntax.ts';
import { dependsOnUnknown } from './unknown-value.ts';

const MAX_SOURCE_CHARS = 10_000;
const MAX_NESTING = 2;
const MAX_KNOWN = 20_000;
// Compiling takes about 10 µs per instruction.
const MAX_PATTERN_INSTRUCTIONS = 20_000;
const INT64 = /^-?\d{1,18}$/;
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', 'in']);

/** The instructions that are left for the literal patterns of all rules. */
export interface PatternBudget {
  left: number;
}

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
  if (source.length > MAX_SOURCE_CHARS) {
    return { message: `it is longer than ${MAX_SOURCE_CHARS} characters`, fix: 'Split the rule.', offset: 0 };
  }
  opened ??= openEnvironment();
  try {
    const parsed = opened.environment.parse(source);
    const root = parsed.ast as unknown as SyntaxNode;
    const patterns = literalPatterns(root);
    const limit = findLimit(root, patterns, budget);
    if (limit) return limit;
    prepare(root, opened);
    const { valid, type, error } = parsed.check();
    if (!valid) return describeCompileError(error, source);
    if (type !== 'bool') return { message: `it is of type ${type}, not bool`, fix: 'Write a condition.', offset: 0 };
    return { ...toCondition(source, root, (values) => parsed(values)), patternInstructions: sizeOf(patterns) };
  } catch (thrown) {
    return describeCompileError(thrown, source);
  }
}

function findLimit(
  root: SyntaxNode,
  patterns: readonly LiteralPattern[],
  budget: PatternBudget,
): ExpressionProblem | undefined {
  const deep = findTooDeep(root, MAX_NESTING);
  if (deep) {
    const message = `it nests macros over lists more than ${MAX_NESTING} deep`;
    return { message, fix: 'Use fewer nested `all`, `exists`, `map` or `filter`.', offset: deep.start };
  }
  const left = Math.min(budget.left, MAX_PATTERN_INSTRUCTIONS);
  const size = sizeOf(patterns);
  if (size > left) {
    const message = `its patterns are too large: of the instructions for all rules, ${left} are left for it`;
    return { message, fix: 'Use smaller patterns, or fewer rules with `matches`.', offset: patterns[0]?.start ?? 0 };
  }
  budget.left -= size; // Also if the condition is refused: its patterns are compiled first.
  for (const { pattern, start } of patterns) {
    try {
      compilePattern(pattern);
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      const message = `the pattern of \`matches\` is not one of RE2: ${reason}`;
      return { message, fix: 'Correct the pattern.', offset: start };
    }
  }
  return undefined;
}

interface LiteralPattern {
  readonly pattern: string;
  readonly start: number;
}

const sizeOf = (patterns: readonly LiteralPattern[]): number =>
  patterns.reduce((sum, { pattern }) => sum + patternSize(pattern), 0);

/** Returns the literal patterns of `matches` in a condition. */
function literalPatterns(root: SyntaxNode): readonly LiteralPattern[] {
  const found: LiteralPattern[] = [];
  walk(root, (node) => {
    const [name, , args] = methodCall(node) ?? [];
    const pattern = name === 'matches' && args?.[0]?.op === 'value' ? args[0].args : undefined;
    if (typeof pattern === 'string') found.push({ pattern, start: args?.[0]?.start ?? 0 });
  });
  return found;
}

/** Replaces `matches` by the one in linear time, and marks the operands that are compared as a whole. */
function prepare(root: SyntaxNode, { meter }: MeteredEnvironment): void {
  walk(root, (node) => {
    const call = methodCall(node);
    if (call?.[0] === 'matches') call[0] = LINEAR_MATCHES;
    if (COMPARISONS.has(node.op)) for (const side of node.args as readonly SyntaxNode[]) meter.markCompared(side);
  });
}

type Run = (values: Readonly<Record<string, unknown>>) => unknown;

function toCondition(source: string, root: SyntaxNode, run: Run): Omit<Condition, 'patternInstructions'> {
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

const plain = new WeakMap<object, ConditionValues['args']>();

/** Converts the numbers of a call's arguments once, for all its rules. */
function plainArguments(args: ConditionValues['args']): ConditionValues['args'] {
  if (typeof args !== 'object' || args === null) return args;
  const known = plain.get(args);
  if (known !== undefined) return known;
  const converted = withPlainNumbers(args, exactNumber);
  plain.set(args, converted);
  return converted;
}

/** An integer that a double cannot hold stays exact: a rule must not take an account for its neighbour. */
const exactNumber = (source: string) => (INT64.test(source) ? BigInt(source) : nearestNumber(source));
