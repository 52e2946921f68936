import type { StepBase, SwitchStep } from '../definition/canonical.ts';
import { holds } from './frame/evaluate.ts';
import type { ExecutionParts, Frame } from './frame/frame.ts';
import type { StepDone } from './frame/step-scope.ts';
import { resultOf } from './group-step.ts';

/** Runs the first case whose condition holds. Without one the step is skipped. */
export async function runSwitch(
  execution: ExecutionParts,
  frame: Frame,
  step: StepBase & SwitchStep,
): Promise<StepDone> {
  for (const { when, steps } of step.cases) {
    if (await holds(execution, frame.scope, when)) return resultOf(await execution.runSteps(steps, frame));
  }
  if (step.else) return resultOf(await execution.runSteps(step.else, frame));
  return { ...resultOf(undefined), isSkipped: true };
}
