import type { Continuation, InputRequest, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { ENDED_STATUSES } from '../../core/records/run.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import { hasTask, type LeftRuns } from './left-runs.ts';
import { ofEarlierCall, runResult, runWorking, taskContinuation, taskOf, unknownRunTask } from './run-answer.ts';
import type { RunCallers } from './run-caller.ts';
import { progressReporter } from './run-progress.ts';
import type { RunSessions } from './run-sessions.ts';
import { type RunWatch, untilRun } from './run-watch.ts';

export interface CallWorkflowOptions {
  readonly watch: RunWatch;
  readonly sessions: RunSessions;
  /** Creates the run of a call and has it executed. A repeated call finds its run. */
  readonly begin: (call: ResolvedCall) => Promise<StoredRun>;
  readonly cancel: (run: string, by: string) => Promise<void>;
  readonly isOwn: RunCallers['isOwn'];
  readonly left: LeftRuns;
  /** Aborts when Heddle closes: the runs go on later, and are not cancelled. */
  readonly closing: AbortSignal;
}

/** The longest poll of a front end that waits in this process. A client's own poll is answered at once. */
const LONG_POLL_MS = 5000;
/** The time after which a call without a task looks for a wait that began in another process. */
const RECHECK_MS = 1000;

/** Returns the function behind the tools of workflows: it begins a run, or polls, answers or cancels it. */
export function workflowCaller(options: CallWorkflowOptions): (call: ResolvedCall) => Promise<Result> {
  const { watch, sessions, begin, cancel, left } = options;
  const { journal } = watch;
  const report = progressReporter();

  const { ownRun, resultOf } = runReader(options);

  /** Returns the result if the run has ended or needs input; undefined if it goes on. `limit` may end the wait. */
  async function answerOf(id: string, call: ResolvedCall, limit?: Limit): Promise<Result | undefined> {
    const run = await ownRun(id, call);
    if (ENDED_STATUSES.includes(run.status)) return resultOf(run, call);
    const inputRequests = sessions.requests(id);
    if (Object.keys(inputRequests).length > 0) return inputRequired(run, inputRequests, call);
    await limit?.(run);
    return undefined;
  }

  /** Waits for the result. Returns the task of a run that goes on after `waitMs`, to a caller with tasks. */
  async function untilAnswer(id: string, call: ResolvedCall, waitMs: number): Promise<Result> {
    const limit = hasTask(call) ? undefined : left.limit(call);
    const check = () => answerOf(id, call, limit);
    for (;;) {
      const found = await untilRun({ watch, run: id, check, signal: call.signal, waitMs, isAwaited: true });
      if (found) return found;
      if (!limit) return runWorking(await ownRun(id, call), call.target.servers[0]);
    }
  }

  async function waitFor(id: string, call: ResolvedCall, waitMs: number): Promise<Result> {
    const stopReports = report({ watch, run: id, call });
    try {
      return await untilAnswer(id, call, waitMs);
    } catch (thrown) {
      // The caller of a request without a task has gone. Only a run that was left before can be found again.
      if (call.signal.aborted && !options.closing.aborted && !hasTask(call)) await cancelUnlessLeft(id, call);
      throw thrown;
    } finally {
      stopReports();
    }
  }

  async function cancelUnlessLeft(id: string, { caller }: ResolvedCall): Promise<void> {
    if ((await journal.get(id))?.left === undefined) await cancel(id, caller.id);
  }

  async function goOn(id: string, call: ResolvedCall): Promise<Result> {
    const run = await ownRun(id, call);
    if (call.continuation?.kind === 'task' && call.continuation.cancels) {
      await cancel(id, call.caller.id);
      return cancelRequested(call);
    }
    sessions.attend(id, call.capabilities);
    if (call.inputResponses) sessions.respond(id, call.inputResponses);
    if (call.continuation?.kind !== 'task') return waitFor(id, call, RECHECK_MS);
    if (call.inputResponses) return runWorking(run, call.target.servers[0]);
    return waitFor(id, call, call.continuation.pollMs > 0 ? LONG_POLL_MS : 0);
  }

  return async function callWorkflow(call) {
    const id = runOf(call.continuation);
    if (id !== undefined) return goOn(id, call);
    if (hasTask(call)) return runWorking(await begin(call), call.target.servers[0]);
    const before = await left.find(call);
    if (before) return goOn(before.id, call);
    return waitFor((await begin(call)).id, call, RECHECK_MS);
  };
}

/** Reads the runs of callers, and their results. */
function runReader({ watch: { journal }, isOwn }: Pick<CallWorkflowOptions, 'watch' | 'isOwn'>) {
  return {
    async ownRun(id: string, { caller, target }: ResolvedCall): Promise<StoredRun> {
      const run = await journal.get(id);
      if (!run || run.caller.id !== caller.id || !(await isOwn(caller, run))) throw unknownRunTask(target.servers[0]);
      return run;
    },
    /** Returns the result of a run that has ended. An equal call after that begins a new run. */
    async resultOf(run: StoredRun, call: ResolvedCall): Promise<Result> {
      const output = run.output === undefined ? null : await journal.value(run.output);
      if (run.left !== undefined) await journal.leave(run.id, undefined);
      const result = runResult(run, output ?? null, call);
      return run.left === undefined ? result : ofEarlierCall(result, run);
    },
  };
}

type Limit = ReturnType<LeftRuns['limit']>;

/** Returns the run that a continuation is about. */
function runOf(continuation: Continuation | undefined): string | undefined {
  if (continuation?.kind === 'task') return continuation.taskId;
  if (continuation?.kind === 'upstream') return continuation.state ?? '';
  if (continuation === undefined) return undefined;
  throw new HeddleError('INPUT_INVALID', 'This continuation belongs to no run.', { fix: 'Call the workflow again.' });
}

function inputRequired(
  run: StoredRun,
  inputRequests: Readonly<Record<string, InputRequest>>,
  call: ResolvedCall,
): Result {
  const [server] = call.target.servers;
  const isTask = hasTask(call);
  return {
    kind: 'input-required',
    inputRequests,
    continuation: isTask ? taskContinuation(run.id, server) : { kind: 'upstream', server, state: run.id },
    ...(isTask && { task: taskOf(run, 'input_required') }),
  };
}

function cancelRequested({ target }: ResolvedCall): Result {
  const value: JsonObject = {};
  return {
    kind: 'complete',
    value,
    isError: false,
    provenance: { server: target.servers[0], attempts: 1, latencyMs: 0 },
  };
}
