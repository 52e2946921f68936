import { canonicalJson } from '../../core/json.ts';
import type { Branch, ParallelStep, StepBase } from '../definition/canonical.ts';
import { type Aborter, abortBelow } from './frame/abort-below.ts';
import { evaluate, stepView } from './frame/evaluate.ts';
import { advanceTo, type ExecutionParts, type Frame, frameBelow, pathBelow, type RunVariables } from './frame/frame.ts';
import { toStepFailure } from './frame/step-failure.ts';
import { openScope, type StepDone, withVariables } from './frame/step-scope.ts';
import { type BranchEnd, concludeParallel, hasSucceeded } from './parallel-result.ts';

/** A parallel step in execution. */
interface Race {
  readonly execution: ExecutionParts;
  readonly frame: Frame;
  readonly step: StepBase & ParallelStep;
  /** Aborts the branches that are still running once the step is decided. */
  readonly aborter: Aborter;
  /** The path at which the deciding branches are recorded. */
  readonly decision: string;
}

/**
 * Runs branches at the same time. The branches that decide are recorded before the others are aborted: a later execution
 * decides in the same way, in whichever order the branches end then.
 */
export async function runParallel(
  execution: ExecutionParts,
  frame: Frame,
  step: StepBase & ParallelStep,
): Promise<StepDone> {
  const decision = pathBelow(frame.path, '~decision');
  const aborter = abortBelow(frame.signal);
  if (execution.durable.recorded(decision) !== undefined) aborter.abort();
  const race: Race = { execution, frame, step, aborter, decision };
  try {
    const ends = await endsOf(race);
    for (const end of ends) advanceTo(frame, end.frame.time.at);
    const decided = execution.durable.recorded(decision) as readonly string[] | undefined;
    const done = concludeParallel({ execution, path: frame.path, step, ends, decided });
    takeVariables(frame, decided ? ends.filter(({ id }) => decided.includes(id)) : ends.filter(hasSucceeded));
    return { ...done, ...innerOf(ends) };
  } finally {
    aborter.release();
  }
}

/** Waits for every branch, also for those that were aborted: no call is left behind. */
async function endsOf(race: Race): Promise<readonly BranchEnd[]> {
  const votes = new Map<string, string[]>();
  const settled = await Promise.allSettled(
    race.step.branches.map(async (branch, place) => {
      const end = await runBranch(race, branch, place);
      const deciding = decides(race.step, end, votes);
      if (deciding) {
        await race.execution.durable.record(race.decision, () => deciding);
        race.aborter.abort();
      }
      return end;
    }),
  );
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}

async function runBranch({ execution, step, ...race }: Race, { id, steps }: Branch, place: number): Promise<BranchEnd> {
  const variables: RunVariables = { values: {} };
  const { scope: around } = race.frame;
  const isClassic = execution.form === 'classic';
  const scope = openScope(around, isClassic ? { var: withVariables(around, () => variables.values) } : {});
  const frame = frameBelow(race.frame, { segment: id, place, scope, signal: race.aborter.signal, variables });
  try {
    const last = await execution.runSteps(steps, frame);
    if (step.mode !== 'majority' || !last || !hasSucceeded({ id, frame, last }))
      return { id, frame, ...(last && { last }) };
    return { id, frame, last, vote: await voteOf(execution, step, { id, frame, last }) };
  } catch (thrown) {
    return { id, frame, failure: toStepFailure(thrown, frame.path) };
  }
}

async function voteOf(
  execution: ExecutionParts,
  { by }: ParallelStep,
  { id, frame, last }: BranchEnd,
): Promise<string> {
  if (!last) return '';
  if (!by) return canonicalJson(await last.result());
  const branch = async () => ({ ...(await stepView(last, execution.form)), id });
  return canonicalJson(await evaluate(execution, openScope(frame.scope, { branch }), by));
}

/** Returns the branches that decide the step, if this end does so. */
function decides(
  { mode, branches }: ParallelStep,
  end: BranchEnd,
  votes: Map<string, string[]>,
): readonly string[] | undefined {
  if (mode === 'all') return end.failure && !end.failure.isCancelled ? [end.id] : undefined;
  if (mode === 'first') return hasSucceeded(end) ? [end.id] : undefined;
  if (mode === 'most' || end.vote === undefined) return undefined;
  const agreeing = [...(votes.get(end.vote) ?? []), end.id];
  votes.set(end.vote, agreeing);
  return agreeing.length > branches.length / 2 ? agreeing : undefined;
}

/** Sets the variables of branches, in the order of the branches. */
function takeVariables({ variables }: Frame, ends: readonly BranchEnd[]): void {
  for (const { frame } of ends) variables.values = { ...variables.values, ...frame.variables.values };
}

function innerOf(ends: readonly BranchEnd[]): Pick<StepDone, 'inner'> {
  const inner = openScope(ends[0]?.frame.scope, {});
  for (const { frame } of ends) for (const [id, state] of frame.scope.steps()) inner.addStep(id, state);
  return { inner };
}
