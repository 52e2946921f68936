import type { Step } from '../definition/canonical.ts';
import { runApproval } from './approval-step.ts';
import { runCodeStep } from './code-step.ts';
import { runFanout } from './fanout-step.ts';
import { type ExecutionParts, type Frame, pathBelow } from './frame/frame.ts';
import type { StepDone } from './frame/step-scope.ts';
import { withTimeout } from './frame/with-timeout.ts';
import { runGroup } from './group-step.ts';
import { runLoop } from './loop-step.ts';
import { runParallel } from './parallel-step.ts';
import { runPipeline } from './pipeline-step.ts';
import { runSwitch } from './switch-step.ts';
import { runSubWorkflow, runToolStep } from './tool-step.ts';
import { runWait } from './wait-step.ts';

/** Makes one attempt of a step. Later attempts of a block have paths of their own, since its calls are made again. */
export async function runAttempt(
  execution: ExecutionParts,
  frame: Frame,
  { step, attempt }: { readonly step: Step; readonly attempt: number },
): Promise<StepDone> {
  if (step.kind === 'tool') return runToolStep(execution, frame, { step, attempt });
  if (step.kind === 'workflow') return runSubWorkflow(execution, frame, { step, attempt });
  const path = attempt === 1 ? frame.path : pathBelow(frame.path, `~attempt/${attempt}`);
  return withTimeout(
    execution,
    { ...frame, path },
    {
      path: pathBelow(path, '~timeout'),
      timeoutMs: step.kind === 'approval' ? undefined : step.timeoutMs,
      run: (timed) => runBlock(execution, timed, step),
    },
  );
}

type Block = Exclude<Step, { readonly kind: 'tool' | 'workflow' }>;

function runBlock(execution: ExecutionParts, frame: Frame, step: Block): Promise<StepDone> {
  switch (step.kind) {
    case 'sequential':
      return runGroup(execution, frame, step);
    case 'pipeline':
      return runPipeline(execution, frame, step);
    case 'parallel':
      return runParallel(execution, frame, step);
    case 'switch':
      return runSwitch(execution, frame, step);
    case 'fanout':
      return runFanout(execution, frame, step);
    case 'loop':
      return runLoop(execution, frame, step);
    case 'approval':
      return runApproval(execution, frame, step);
    case 'wait':
      return runWait(execution, frame, step);
    case 'code':
      return runCodeStep(execution, frame, step);
  }
}
