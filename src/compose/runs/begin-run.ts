import { approvalPending } from '../../core/call/approval-pending.ts';
import { newCallId } from '../../core/call/call-id.ts';
import type { Call, Caller, Handler, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { RunOptions } from '../../core/records/run.ts';
import type { RunFollower } from '../../core/records/workflow-api.ts';
import { WORKFLOW_PREFIX } from '../../workflow/definition/find-cycle.ts';

/** The options of a start, which its call finds by its id. */
export type WantedRun = RunOptions & RunFollower;

export interface BeginRunOptions {
  readonly dispatch: Handler;
  /** By call id: the options of starts whose calls are in flight. */
  readonly wanted: Map<string, WantedRun>;
}

export interface WorkflowStart {
  readonly by: Caller;
  /** The name of the workflow. */
  readonly name: string;
  readonly input: JsonObject;
  readonly options: WantedRun;
}

/** Calls the tool of a workflow as any other tool. Returns the id of the run that it begins. */
export async function beginRun({ dispatch, wanted }: BeginRunOptions, run: WorkflowStart): Promise<string> {
  const call = callOf(run);
  wanted.set(call.id, run.options);
  try {
    return await dispatchPastApprovals(dispatch, call, run.options);
  } finally {
    wanted.delete(call.id);
  }
}

async function dispatchPastApprovals(dispatch: Handler, call: Call, { onApproval }: RunFollower): Promise<string> {
  let result = await dispatch(call);
  while (result.kind === 'waiting') {
    if (!onApproval) throw approvalPending(call, result.approval);
    const { approved } = await onApproval(result.approval, call.signal);
    // The verdict of the user is about this approval alone; an agreement beforehand is about none.
    const { approved: _, ...rest } = call;
    result = await dispatch({ ...rest, ...(approved && { approved }), continuation: result.continuation });
  }
  if (result.kind === 'working') return result.continuation.taskId;
  throw new HeddleError('RUN_FAILED', `${call.name} did not begin a run.`);
}

const callOf = ({ by, name, input, options }: WorkflowStart): Call => ({
  id: newCallId(),
  kind: 'tool',
  name: WORKFLOW_PREFIX + name,
  input,
  meta: {},
  caller: by,
  options: options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs },
  acceptsTask: true,
  signal: options.signal ?? new AbortController().signal,
  ...(options.approved && { approved: options.approved }),
});
