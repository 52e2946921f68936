import type { Json, JsonObject } from '../../core/call.ts';
import type { RunError } from '../../core/records/run.ts';
import { cutText } from '../../core/text/cut-text.ts';
import type { ParallelStep } from '../definition/canonical.ts';
import type { ExecutionParts, Frame } from './frame/frame.ts';
import { cancelledAt, StepFailure } from './frame/step-failure.ts';
import { lazy, type StepDone, type StepState } from './frame/step-scope.ts';
import { resultOf } from './group-step.ts';
import { loadAll } from './load-results.ts';

const MAX_MESSAGE_CHARS = 1000;

/** The end of one branch. */
export interface BranchEnd {
  readonly id: string;
  readonly frame: Frame;
  /** The last step that has a result. */
  readonly last?: StepState;
  readonly failure?: StepFailure;
  /** The value that `majority` compares. */
  readonly vote?: string;
}

/** Returns true if a branch has a result of its own: not skipped, and no replacement for an error. */
export const hasSucceeded = ({ last, failure }: BranchEnd): boolean =>
  failure === undefined && last !== undefined && last.isDefaultFallback !== true;

/** The ends of all branches, and the recorded ids of those that decided. */
interface ParallelEnd {
  readonly execution: ExecutionParts;
  readonly path: string;
  readonly step: ParallelStep;
  readonly ends: readonly BranchEnd[];
  readonly decided: readonly string[] | undefined;
}

/** Makes the result of a parallel step, or throws its failure. */
export function concludeParallel(end: ParallelEnd): StepDone {
  const { path, step, ends, decided } = end;
  const deciding = ends.find(({ id }) => id === decided?.[0]);
  if (!deciding && ends.some(({ failure }) => failure?.isCancelled)) {
    throw withEffects(cancelledAt(path).error, ends);
  }
  if (step.mode === 'all') {
    if (deciding?.failure) {
      reportDiscarded(end);
      throw withEffects(deciding.failure.error, ends);
    }
    return collect(ends, { shape: step.shape, path });
  }
  if (step.mode === 'most') {
    const successes = ends.filter(hasSucceeded);
    if (successes.length <= ends.length / 2) throw tooFewSucceeded(path, ends);
    return collect(successes, { shape: step.shape, path });
  }
  if (!deciding?.last) throw step.mode === 'first' ? allFailed(path, ends) : noMajority(path, ends);
  const discarded = reportDiscarded(end);
  const fields = { winner: deciding.id, ...(discarded.length > 0 && { discarded }) };
  if (step.mode === 'majority') return { ...resultOf(deciding.last), fields };
  return { result: winnerResult(deciding.id, deciding.last, step.shape), fields };
}

const withEffects = (error: RunError, ends: readonly BranchEnd[]): StepFailure =>
  new StepFailure(error, { mayHaveActed: ends.some(({ failure }) => failure?.mayHaveActed) });

function winnerResult(winner: string, { result }: StepState, shape: ParallelStep['shape']) {
  return async (): Promise<Json> => {
    const value = await result();
    if (shape === 'winner') return { winner, value };
    return shape === 'list' ? [value] : { [winner]: value };
  };
}

interface Collected {
  readonly shape: ParallelStep['shape'];
  readonly path: string;
}

/** Makes the result of all branches. A branch without a result is null. */
function collect(ends: readonly BranchEnd[], { shape, path }: Collected): StepDone {
  const result = async (): Promise<Json> => {
    const results = ends.map(({ last }) => last?.result ?? lazy(null));
    const values = await loadAll(path, results);
    return shape === 'list' ? values : Object.fromEntries(ends.map(({ id }, index) => [id, values[index] ?? null]));
  };
  const errors: [string, JsonObject][] = ends.flatMap(({ id, frame }) => {
    const failed = [...frame.scope.steps().values()].find(({ error }) => error !== undefined);
    return failed?.error ? [[id, { ...failed.error }]] : [];
  });
  return { result, ...(errors.length > 0 && { fields: { errors: Object.fromEntries(errors) } }) };
}

/** Logs the losing branches whose calls may have had effects, and returns them. */
function reportDiscarded({ execution, step, ends, decided = [] }: ParallelEnd): readonly string[] {
  const isLate = (end: BranchEnd) => step.mode !== 'all' && end.last !== undefined;
  const acted = ends.filter((end) => !decided.includes(end.id) && (end.failure?.mayHaveActed || isLate(end)));
  const winning = ends.find(({ id }) => id === decided[0])?.vote;
  for (const { id, frame, failure, vote } of acted) {
    const place = failure?.error.path ?? frame.path;
    const isOutvoted = step.mode === 'majority' && vote !== winning;
    const lost = isOutvoted ? 'was outvoted' : 'ended after the step was decided';
    const message = failure
      ? `The branch ${id} was cancelled, and its call at ${place} may have had effects.`
      : `The branch ${id} ${lost}, and its result is discarded.`;
    execution.durable.log(frame.path, { stepId: id, type: failure ? 'error' : 'skip', message });
  }
  return acted.map(({ id }) => id);
}

const reasonOf = ({ failure, last }: BranchEnd): string => failure?.message ?? last?.error?.message ?? 'it was skipped';

const reasons = (ends: readonly BranchEnd[]): string =>
  ends
    .filter((end) => !hasSucceeded(end))
    .map((end) => `${end.id}: ${reasonOf(end)}`)
    .join('; ');

function allFailed(path: string, ends: readonly BranchEnd[]): StepFailure {
  const message = `No branch of the step ${path} has succeeded: ${cutText(reasons(ends), MAX_MESSAGE_CHARS)}`;
  return failedStep(path, ends, { code: 'ALL_FAILED', message });
}

function tooFewSucceeded(path: string, ends: readonly BranchEnd[]): StepFailure {
  const count = ends.filter(hasSucceeded).length;
  const message = `${count} of ${ends.length} branches of the step ${path} have succeeded, which is no majority: ${cutText(reasons(ends), MAX_MESSAGE_CHARS)}`;
  return failedStep(path, ends, { code: 'NO_MAJORITY', message });
}

/** Makes the failure of a vote. The tally has the branches of each value, not the values. */
function noMajority(path: string, ends: readonly BranchEnd[]): StepFailure {
  const tally = new Map<string, string[]>();
  for (const { id, vote } of ends) if (vote !== undefined) tally.set(vote, [...(tally.get(vote) ?? []), id]);
  const groups = [...tally.values()];
  const votes = groups.map((ids) => `${ids.join(' and ')} (${ids.length})`).join(', ');
  const failed = reasons(ends);
  const message = `No value of the step ${path} has a majority of ${ends.length} branches. Votes: ${votes || 'none'}.${failed && ` Without a vote: ${cutText(failed, MAX_MESSAGE_CHARS)}`}`;
  return failedStep(path, ends, { code: 'NO_MAJORITY', message, details: { tally: groups } });
}

function failedStep(path: string, ends: readonly BranchEnd[], error: Omit<RunError, 'path' | 'fix'>): StepFailure {
  return withEffects({ ...error, fix: 'Correct the branches, or handle the error with `onError`.', path }, ends);
}
