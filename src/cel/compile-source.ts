import { patternSize } from '../core/text/pattern-size.ts';
import { chargeFunctions } from './charge-functions.ts';
import { findWrongPlace } from './check-places.ts';
import { describeCompileError, type ExpressionProblem } from './describe-error.ts';
import { LINEAR_MATCHES, METERED_JOIN, type MeteredEnvironment } from './environment.ts';
import { useExactOperators } from './exact/exact-operators.ts';
import { findInexactLiteral } from './exact/find-inexact-literal.ts';
import type { Meter, SyntaxNode } from './meter.ts';
import { compilePattern } from './safe-matches.ts';
import { findTooDeep, isComprehension, methodCall, walk } from './syntax.ts';

const MAX_SOURCE_CHARS = 10_000;
const MAX_NESTING = 2;
// Compiling takes about 10 µs per instruction.
export const MAX_PATTERN_INSTRUCTIONS = 20_000;
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', 'in']);

/** The instructions that are left for the literal patterns of all rules. */
export interface PatternBudget {
  left: number;
}

/** An expression that is parsed, checked and within its limits. */
export interface CompiledSource {
  readonly root: SyntaxNode;
  /** The type of its result; `dyn` if it depends on values. */
  readonly type: string;
  readonly patternInstructions: number;
  run(values: Readonly<Record<string, unknown>>): unknown;
}

interface SourceOptions {
  readonly budget: PatternBudget;
  /** Returns the fix for an unknown variable. */
  readonly suggestName: (name: string) => string;
  /** Checks and changes the parsed tree before its types are checked. */
  readonly prepare?: (root: SyntaxNode) => ExpressionProblem | undefined;
}

/** Parses an expression, and checks its limits and types. Returns a problem with its place if it is wrong. */
export function compileSource(
  { environment, meter }: MeteredEnvironment,
  source: string,
  { budget, suggestName, prepare }: SourceOptions,
): CompiledSource | ExpressionProblem {
  if (source.length > MAX_SOURCE_CHARS) {
    return { message: `it is longer than ${MAX_SOURCE_CHARS} characters`, fix: 'Split the expression.', offset: 0 };
  }
  try {
    const parsed = environment.parse(source);
    const root = parsed.ast as unknown as SyntaxNode;
    const patterns = literalPatterns(root);
    const problem = findLimit(root, patterns, budget) ?? findLiteral(root, source) ?? prepare?.(root);
    if (problem) return problem;
    meterNodes(root, meter);
    const { valid, type, error } = parsed.check();
    if (!valid) return describeCompileError(error, source, suggestName);
    useExactOperators(root);
    return { root, type: String(type), patternInstructions: sizeOf(patterns), run: (values) => parsed(values) };
  } catch (thrown) {
    return describeCompileError(thrown, source, suggestName);
  }
}

/** Finds a literal by which the expression would miss what it names. */
const findLiteral = (root: SyntaxNode, source: string): ExpressionProblem | undefined =>
  findInexactLiteral(root, source) ?? findWrongPlace(root);

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

/** Replaces functions by bounded ones, and marks the operands that are compared as a whole or iterated. */
function meterNodes(root: SyntaxNode, meter: Meter): void {
  walk(root, (node) => {
    const call = methodCall(node);
    if (call?.[0] === 'matches') call[0] = LINEAR_MATCHES;
    if (call?.[0] === 'join') call[0] = METERED_JOIN;
    if (call && isComprehension(node)) meter.markIterated(call[1]);
    chargeFunctions(node, meter);
    if (COMPARISONS.has(node.op)) for (const side of node.args as readonly SyntaxNode[]) meter.markCompared(side);
  });
}
