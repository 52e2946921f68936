import type { Step, StepBase, SwitchStep } from '../definition/canonical.ts';
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
    if (await holds(execution, frame.scope, when)) return runCase(execution, frame, steps);
  }
  if (step.else) return runCase(execution, frame, step.else);
  return SKIPPED;
}

const SKIPPED: StepDone = { ...resultOf(undefined), isSkipped: true };

/** Runs the steps of a case. In the classic form a case without a result is skipped. */
async function runCase(execution: ExecutionParts, frame: Frame, steps: readonly Step[]): Promise<StepDone> {
  const last = await execution.runSteps(steps, frame);
  return last || execution.form === 'rich' ? resultOf(last) : SKIPPED;
}
