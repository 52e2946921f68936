import type { Json, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { type CheckedValue, describeProblems } from './describe-problems.ts';
import { compileSchema, type FindProblems } from './evaluate.ts';
import type { SchemaProblem } from './evaluation.ts';
import { fastCheck } from './fast-check.ts';
import { optionalNulls } from './optional-null.ts';
import { brokenLimit } from './schema-limits.ts';
import { checkBudget, OverBudget } from './step-budget.ts';

/** Returns up to five things that are wrong with a value as a sentence, or undefined. */
export type Check = (input: Json) => string | undefined;

export interface CheckOptions {
  /** Treats an optional property that is null as absent where the schema allows no null. */
  readonly nullIsAbsent?: boolean;
  /** `input` unless given. */
  readonly of?: CheckedValue;
}

/**
 * Compiles an untrusted schema to a check. Throws TOOL_INVALID when it is broken or exceeds the limits.
 * The check throws INPUT_INVALID when the input takes too many steps.
 */
export function compileCheck(schema: JsonObject, tool: string, options: CheckOptions = {}): Check {
  const broken = brokenLimit(schema);
  if (broken) throw invalid(tool, broken);
  const budget = checkBudget();
  const fits = fastCheck(schema, budget);
  if (!fits) return thoroughCheck(schema, tool, options);
  // Most inputs are valid and most schemas simple. Descriptions of problems come from the thorough check.
  let thorough: Check | undefined;
  return function check(input) {
    budget.restart();
    try {
      if (fits(input)) return undefined;
    } catch (cause) {
      throw failed(tool, cause);
    }
    thorough ??= thoroughCheck(schema, tool, options);
    return thorough(input);
  };
}

function thoroughCheck(schema: JsonObject, tool: string, { nullIsAbsent, of = 'input' }: CheckOptions): Check {
  const budget = checkBudget();
  const findProblems = compiled(tool, () => compileSchema(schema, budget));
  const nullBehind = nullIsAbsent ? optionalNulls(schema) : () => undefined;
  return function check(input) {
    budget.restart();
    let rest: Record<string, Json | undefined> | undefined;
    for (;;) {
      const value = rest ?? input;
      if (checked(tool, () => findProblems(value))) return undefined;
      // The problems have a budget of their own. All nulls of one input share it: each repeats the check.
      if (!rest) budget.restart();
      const problems = explained(findProblems, value);
      const names = problems.flatMap((problem) => nullBehind(problem) ?? []);
      if (names.length === 0) return describeProblems(problems, of);
      rest ??= { ...(input as JsonObject) };
      for (const name of names) delete rest[name];
    }
  };
}

/** Collects the problems of a value, at most those that are found within the budget. */
function explained(findProblems: FindProblems, value: Json): readonly SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  try {
    findProblems(value, problems);
  } catch (thrown) {
    if (!(thrown instanceof OverBudget)) throw thrown;
  }
  return problems.length > 0 ? problems : [{ path: [], keyword: '', rule: 'does not fit', value }];
}

function compiled<T>(tool: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw unusable(tool, cause);
  }
}

function checked<T>(tool: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw failed(tool, cause);
  }
}

/** Returns INPUT_INVALID for a check that takes too many steps, and TOOL_INVALID for any other failure. */
function failed(tool: string, cause: unknown): HeddleError {
  if (!(cause instanceof OverBudget)) return unusable(tool, cause);
  return new HeddleError('INPUT_INVALID', `The arguments of ${tool} are too large to check: ${cause.message}.`, {
    cause,
    fix: 'Send fewer or shorter values in one call.',
  });
}

const unusable = (tool: string, cause: unknown) =>
  invalid(tool, cause instanceof Error ? cause.message : 'it cannot be compiled', cause);

const invalid = (tool: string, why: string, cause?: unknown) =>
  new HeddleError('TOOL_INVALID', `${tool} cannot be called: its input schema is not usable (${why}).`, { cause });
