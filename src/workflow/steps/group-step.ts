import type { GroupStep, StepBase } from '../definition/canonical.ts';
import type { ExecutionParts, Frame } from './frame/frame.ts';
import { lazy, type StepDone, type StepState } from './frame/step-scope.ts';

/** Runs steps in order. */
export async function runGroup(execution: ExecutionParts, frame: Frame, step: StepBase & GroupStep): Promise<StepDone> {
  return resultOf(await execution.runSteps(step.steps, frame));
}

/** Returns the result of the last step that has one. */
export const resultOf = (last: StepState | undefined): StepDone => ({
  result: last?.result ?? lazy(null),
  ...(last?.isDefaultFallback && { isDefaultFallback: true }),
});
