import type { Continuation, InputRequest, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { ENDED_STATUSES } from '../../core/records/run.ts';
import type { StoredRun } from '../../store/run-journal.ts';
import { runResult, runWorking, taskContinuation, taskOf, unknownRunTask } from './run-answer.ts';
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
  /** Aborts when Heddle closes: the runs go on later, and are not cancelled. */
  readonly closing: AbortSignal;
}

/** The longest poll of a front end that waits in this process. A client's own poll is answered at once. */
const LONG_POLL_MS = 5000;

/** Returns the function behind the tools of workflows: it begins a run, or polls, answers or cancels it. */
export function workflowCaller(options: CallWorkflowOptions): (call: ResolvedCall) => Promise<Result> {
  const { watch, sessions, begin, cancel } = options;
  const { journal } = watch;
  const report = progressReporter();

  async function ownRun(id: string, { caller, target }: ResolvedCall): Promise<StoredRun> {
    const run = await journal.get(id);
    if (!run || run.caller.id !== caller.id || !(await options.isOwn(caller, run)))
      throw unknownRunTask(target.servers[0]);
    return run;
  }

  /** Returns the result if the run has ended or needs input; undefined if it goes on. */
  async function answerOf(id: string, call: ResolvedCall): Promise<Result | undefined> {
    const run = await ownRun(id, call);
    if (ENDED_STATUSES.includes(run.status)) {
      const output = run.output === undefined ? null : await journal.value(run.output);
      return runResult(run, output ?? null, call);
    }
    const inputRequests = sessions.requests(id);
    return Object.keys(inputRequests).length > 0 ? inputRequired(run, inputRequests, call) : undefined;
  }

  async function waitFor(id: string, call: ResolvedCall, waitMs: number | undefined): Promise<Result> {
    const stopReports = report({ watch, run: id, call });
    try {
      const { signal } = call;
      const check = () => answerOf(id, call);
      const found = await untilRun({ watch, run: id, check, signal, waitMs, isAwaited: true });
      return found ?? runWorking(await ownRun(id, call), call.target.servers[0]);
    } catch (thrown) {
      // The caller of a request without a task has gone, and no other caller has the id of the run.
      if (call.signal.aborted && !options.closing.aborted && !call.acceptsTask) await cancel(id, call.caller.id);
      throw thrown;
    } finally {
      stopReports();
    }
  }

  async function goOn(id: string, call: ResolvedCall): Promise<Result> {
    const run = await ownRun(id, call);
    if (call.continuation?.kind === 'task' && call.continuation.cancels) {
      await cancel(id, call.caller.id);
      return cancelRequested(call);
    }
    sessions.attend(id, call.capabilities);
    if (call.inputResponses) sessions.respond(id, call.inputResponses);
    if (call.continuation?.kind !== 'task') return waitFor(id, call, undefined);
    if (call.inputResponses) return runWorking(run, call.target.servers[0]);
    return waitFor(id, call, call.continuation.pollMs > 0 ? LONG_POLL_MS : 0);
  }

  return async function callWorkflow(call) {
    const id = runOf(call.continuation);
    if (id !== undefined) return goOn(id, call);
    const run = await begin(call);
    if (call.acceptsTask) return runWorking(run, call.target.servers[0]);
    return waitFor(run.id, call, undefined);
  };
}

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
  { acceptsTask, continuation, target }: ResolvedCall,
): Result {
  const [server] = target.servers;
  const isTask = acceptsTask || continuation?.kind === 'task';
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
