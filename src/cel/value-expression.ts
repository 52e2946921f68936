import { BoundedMap } from '../core/bounded-map.ts';
import type { Json } from '../core/call.ts';
import { parseExact, type RawNumber } from '../core/exact-numbers.ts';
import { type CompiledSource, compileSource, MAX_PATTERN_INSTRUCTIONS } from './compile-source.ts';
import { convertOnce } from './convert-once.ts';
import { describeFailure, type ExpressionProblem } from './describe-error.ts';
import { type MeteredEnvironment, openEnvironment } from './environment.ts';
import { exactInteger } from './exact/mixed-numbers.ts';
import { type MeterLimits, type SyntaxNode, TooManyItems } from './meter.ts';
import { accessOf, findReads, namesToFields, SCOPE, type ScopeRead } from './scope-reads.ts';
import { MAX_EXPRESSION_BYTES, ResultInvalid, valueToJson } from './value-to-json.ts';

/** The limits of one expression: about 50 ms, 4 MB of text, lists of 10,000 items. */
const VALUE_LIMITS: MeterLimits = { steps: 250_000, madeCharsPerStep: 16, items: 10_000 };
const MAX_KNOWN = 2_000;

/** The result of an expression, or the reason why it has none. */
export type ValueResult = { readonly value: Json } | ValueFailure;

export interface ValueFailure {
  /** The cause: a phrase without any value of the run. */
  readonly failure: string;
  /** The path that does not exist, from the name on; absent if a part of it is computed. */
  readonly missing?: readonly (string | number)[];
}

/** The steps and bytes that are left for several expressions together. */
export interface ValueBudget {
  steps: number;
  bytes: number;
}

/** A compiled expression over `scope`, which maps names to values. */
export interface ValueExpression {
  readonly source: string;
  /** The type of its result; `dyn` if it depends on values. */
  readonly type: string;
  readonly reads: readonly ScopeRead[];
  /** Takes at most about 50 ms. Never throws. */
  evaluate(scope: Readonly<Record<string, unknown>>, budget?: ValueBudget): ValueResult;
}

let opened: (MeteredEnvironment & { readonly field: SyntaxNode }) | undefined;
const known = new BoundedMap<string, ValueExpression | ExpressionProblem>(MAX_KNOWN);

/**
 * Compiles an expression of a workflow, in which `$name` is written as `scope["name"]`. Returns a problem with its place
 * if it is wrong. Results are kept by source.
 */
export function compileValueExpression(source: string): ValueExpression | ExpressionProblem {
  const found = known.get(source);
  if (found) return found;
  const result = compile(source);
  known.set(source, result);
  return result;
}

function compile(source: string): ValueExpression | ExpressionProblem {
  opened ??= openValues();
  const { field } = opened;
  let reads: readonly ScopeRead[] = [];
  const compiled = compileSource(opened, source, {
    budget: { left: MAX_PATTERN_INSTRUCTIONS },
    suggestName: (name) => `Write \`$${name}\`.`,
    prepare(root) {
      namesToFields(root, field);
      const found = findReads(root);
      if ('message' in found) return found;
      reads = found;
      return undefined;
    },
  });
  if ('message' in compiled) return compiled;
  return { source, type: compiled.type, reads, evaluate: evaluator(source, compiled, opened) };
}

function openValues(): MeteredEnvironment & { readonly field: SyntaxNode } {
  const metered = openEnvironment(
    (environment) => environment.registerVariable(SCOPE, 'map<string, dyn>'),
    VALUE_LIMITS,
  );
  return { ...metered, field: metered.environment.parse(`${SCOPE}.a`).ast as unknown as SyntaxNode };
}

function evaluator(
  source: string,
  { run }: CompiledSource,
  { meter }: MeteredEnvironment,
): ValueExpression['evaluate'] {
  return (scope, budget = { steps: VALUE_LIMITS.steps, bytes: MAX_EXPRESSION_BYTES }) => {
    meter.reset(budget.steps);
    try {
      const result = run({ [SCOPE]: computable(scope) });
      if (meter.isExhausted) return { failure: 'it takes too many steps' };
      const { value, bytes } = valueToJson(result, Math.min(budget.bytes, MAX_EXPRESSION_BYTES));
      budget.bytes -= bytes;
      return { value };
    } catch (thrown) {
      if (meter.isExhausted) return { failure: 'it takes too many steps' };
      if (thrown instanceof TooManyItems || thrown instanceof ResultInvalid) return { failure: thrown.message };
      return { failure: withDollars(describeFailure(thrown, source)), ...missingIn(thrown) };
    } finally {
      budget.steps -= meter.used;
    }
  };
}

/** Returns the literal path whose access failed. */
function missingIn(thrown: unknown): Pick<ValueFailure, 'missing'> {
  const { node } = thrown as { readonly node?: SyntaxNode };
  const access = node && accessOf(node);
  return access && access.computed.length === 0 ? { missing: access.parts } : {};
}

/** Writes names as in the source of a workflow. */
const withDollars = (text: string): string => text.replace(/scope\["([\w-]+)"\]/g, '$$$1');

function computable(scope: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(scope).map(([name, value]) => [name, exactValue(value)]));
}

/** An integer of 64 bits is computed exactly. Any other raw number is passed on and cannot be computed. */
const exactValue = convertOnce((source) => exactInteger(source) ?? (parseExact(source) as unknown as RawNumber));
