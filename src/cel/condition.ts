import type { JsonObject } from '../core/call.ts';
import type { ExpressionProblem } from './describe-error.ts';

/** The variables of a condition. */
export const VARIABLES = ['caller', 'tool', 'kind', 'args', 'annotations', 'taint', 'time'] as const;
export type ConditionVariable = (typeof VARIABLES)[number];

/** The values of the variables. A condition without `args`, `taint` or `time` gets empty ones. */
export interface ConditionValues {
  readonly caller: Readonly<Record<string, unknown>>;
  readonly tool: Readonly<Record<string, unknown>>;
  readonly kind: string;
  readonly args: JsonObject;
  readonly annotations: JsonObject;
  readonly taint: readonly string[];
  readonly time: Date;
  /** The steps left for all conditions of one call; without it each has its own. */
  readonly budget?: { left: number };
}

/** The result of a condition, or the reason why it has none. */
export type ConditionResult = boolean | ConditionFailure;

export interface ConditionFailure {
  /** The cause: a phrase without any value of the call. */
  readonly failure: string;
  /** True if the result depends on a value that was redacted or cut. */
  readonly isUnknown?: true;
}

/** A compiled condition. */
export interface Condition {
  readonly source: string;
  readonly variables: ReadonlySet<ConditionVariable>;
  /** The place of an argument that is read without a test that it exists; absent if there is none. */
  readonly unguardedAt?: number;
  /** Tests of a path or a host as text. They may miss: the rule is valid. */
  readonly warnings: readonly ExpressionProblem[];
  /** An upper bound of the instructions of its literal patterns. */
  readonly patternInstructions: number;
  /** Takes at most about 20 ms. Never throws. */
  evaluate(values: ConditionValues): ConditionResult;
}
