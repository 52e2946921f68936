import type { JsonObject } from '../../../core/call.ts';
import type { RunCode } from '../../../core/code.ts';
import type { Step, ToolUse, Workflow } from '../../definition/canonical.ts';
import type { Durable } from '../../run/durable.ts';
import type { StepScope, StepState } from './step-scope.ts';

/** A step that has committed and can be undone. */
export interface Compensation {
  readonly path: string;
  readonly step: Step;
  readonly use: ToolUse;
  /** Has `$self` and the steps that the step could see. */
  readonly scope: StepScope;
  /** The place in the order of the definition; branches, items and iterations count. */
  readonly position: readonly number[];
}

/** The most steps that a run begins. Loops without calls have no other end: they make no entries in the journal. */
export const MAX_BEGUN_STEPS = 100_000;

/** The parts that all steps of one execution share. */
export interface ExecutionParts {
  readonly durable: Durable;
  readonly runCode: RunCode;
  readonly form: Workflow['form'];
  readonly input: JsonObject;
  readonly compensations: Compensation[];
  /** Counts the steps that have begun, also those that are then skipped. */
  begun: number;
  /** Counts the steps that were not skipped by `if`. */
  executed: number;
  /** Runs steps in order. Returns the last one that has a result. */
  runSteps(steps: readonly Step[], frame: Frame): Promise<StepState | undefined>;
}

/** The place of a step or a block in an execution. */
export interface Frame {
  /** Empty for the run itself. */
  readonly path: string;
  readonly position: readonly number[];
  readonly scope: StepScope;
  readonly signal: AbortSignal;
  /** The time of the last recorded end in this branch. It is the same in each execution. */
  readonly time: { at: number };
  /** The variables that `outputMapping` of the classic form has set. Each branch has its own until its step ends. */
  readonly variables: RunVariables;
}

export interface RunVariables {
  values: JsonObject;
}

/** Joins a path and a segment. */
export const pathBelow = (path: string, segment: string): string => (path === '' ? segment : `${path}/${segment}`);

/** Returns the frame of a branch, an item or an iteration, with a time of its own. */
export function frameBelow(
  frame: Frame,
  {
    segment,
    place,
    ...changes
  }: { segment: string; place: number } & Partial<Pick<Frame, 'scope' | 'signal' | 'variables'>>,
): Frame {
  return {
    ...frame,
    ...changes,
    path: pathBelow(frame.path, segment),
    position: [...frame.position, place],
    time: { at: frame.time.at },
  };
}

/** Moves the time of a branch forward. */
export function advanceTo(frame: Frame, at: number): void {
  frame.time.at = Math.max(frame.time.at, at);
}
