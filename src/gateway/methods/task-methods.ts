import { newCallId } from '../../core/call/call-id.ts';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import { waitingMessage } from '../../core/call/report-waiting.ts';
import type { Call, JsonObject, Result, TaskContinuation } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INVALID_PARAMS } from '../../wire/mcp.ts';
import type { Continuations } from '../continuations/continuations.ts';
import type { GatewayTask } from '../continuations/gateway-task.ts';
import { toInputResponses } from '../continuations/modern-continuations.ts';
import { toModernInputRequests } from '../continuations/modern-input-requests.ts';
import type { TaskRoute } from '../continuations/task-ids.ts';
import { waitingTasks } from '../continuations/waiting-task.ts';
import type { RequestContext, RequestHandler } from '../request-context.ts';
import { withoutReserved } from '../reserved-meta.ts';
import { toReadError } from '../to-rpc-error.ts';
import { requireTaskSupport } from './client-capabilities.ts';
import { toCall } from './to-call.ts';

/** Returns the handlers of the task methods for modern clients. A task runs at its server or in this gateway. */
export function taskMethods(heddle: Heddle, { tasks, gatewayTasks }: Continuations): Record<string, RequestHandler> {
  const { describe: describeWaiting } = waitingTasks(heddle, gatewayTasks);

  function routeOf(method: string, params: JsonObject, context: RequestContext): TaskRoute {
    requireTaskSupport(params);
    const route = tasks.open(params.taskId, context);
    if (typeof route !== 'string') return route;
    heddle.access.refused(context.caller, { callId: newCallId(), name: method, reason: route });
    // The message is the same for every reason, so that guessing ids reveals nothing.
    throw new RpcError(INVALID_PARAMS, 'Invalid or expired taskId', { reason: 'invalid_task_id' });
  }

  /** Returns the task if this gateway keeps it. */
  const gatewayTaskOf = ({ at }: TaskRoute, context: RequestContext): GatewayTask | undefined =>
    at.kind === 'gateway' ? gatewayTasks.find(at.ticket, context) : undefined;

  /** Throws if the call of a task that another gateway kept has requested no approval: only that gateway knows it. */
  async function requireApproval({ callId }: TaskRoute, { caller }: RequestContext): Promise<void> {
    if ((await heddle.approvals.ofCall(caller, callId)) === undefined) throw gone();
  }

  return {
    'tasks/get': async (method, params, context) => {
      const route = routeOf(method, params, context);
      const taskId = params.taskId as string;
      const task = gatewayTaskOf(route, context);
      if (task) return { ...task.describe(), taskId };
      const call = callOf(route, params, context);
      const { at } = route;
      if (at.kind === 'gateway') return { ...((await describeWaiting(at, call)) ?? raise(gone())), taskId };
      const described = await dispatchTask(heddle, at, call).then(describeTask, describeEnd);
      return { ...withoutReserved(described), taskId };
    },
    'tasks/update': async (method, params, context) => {
      const route = routeOf(method, params, context);
      const call = callOf(route, params, context);
      const inputResponses = toInputResponses(params.inputResponses);
      const task = gatewayTaskOf(route, context);
      if (task) provideInput(task, inputResponses, call);
      else if (route.at.kind === 'gateway') await requireApproval(route, context);
      else await dispatchTask(heddle, route.at, { ...call, inputResponses });
      return {};
    },
    'tasks/cancel': async (method, params, context) => {
      const route = routeOf(method, params, context);
      const { at } = route;
      const task = gatewayTaskOf(route, context);
      if (task) await task.cancelByClient();
      else if (at.kind === 'task') await dispatchTask(heddle, { ...at, cancels: true }, callOf(route, params, context));
      else {
        await requireApproval(route, context);
        await heddle.approvals.withdraw(context.caller, route.callId);
      }
      return {};
    },
  };
}

/** Rebuilds the call from the task id, without its arguments, which were checked when the task was created. */
function callOf({ callId, name, capabilities }: TaskRoute, { _meta = {} }: JsonObject, context: RequestContext): Call {
  const { capabilities: current, ...call } = toCall({ kind: 'tool', name, input: {} }, { _meta }, context);
  // The task id has no extensions: they may be long, and each request declares them.
  const extensions = current?.extensions && { ...(capabilities ?? NO_CAPABILITIES), extensions: current.extensions };
  const declared = extensions ?? capabilities;
  return { ...call, id: callId, ...(declared && { capabilities: declared }) };
}

async function dispatchTask(heddle: Heddle, continuation: TaskContinuation, call: Call): Promise<Result> {
  try {
    return await heddle.dispatch({ ...call, continuation });
  } catch (thrown) {
    const error = HeddleError.from(thrown);
    if (isObject(error.details.task)) throw error;
    throw toReadError(error, call, 'modern');
  }
}

function raise(error: RpcError): never {
  throw error;
}

const gone = () => new RpcError(INVALID_PARAMS, GONE, { reason: 'invalid_task_id' });
const GONE = 'The gateway that ran this task is gone, or the task has expired. Check whether the call has had effects.';

function provideInput(task: GatewayTask, responses: NonNullable<Call['inputResponses']>, call: Call): void {
  try {
    task.provideInput(responses);
  } catch (thrown) {
    throw toReadError(HeddleError.from(thrown), call, 'modern');
  }
}

/** Converts a result to the task object of MCP. */
function describeTask(result: Result): JsonObject {
  if (result.kind === 'working') return { ...result.task };
  if (result.kind === 'complete') return { ...result.task, status: 'completed', result: withoutReserved(result.value) };
  if (result.kind === 'waiting') return { status: 'working', statusMessage: waitingMessage(result.approval) };
  return { ...result.task, status: 'input_required', inputRequests: toModernInputRequests(result.inputRequests) };
}

/** Converts the error of an ended task to a failed or cancelled task object. Rethrows any other error. */
function describeEnd(thrown: unknown): JsonObject {
  if (!HeddleError.is(thrown)) throw thrown;
  const { task, rpc } = thrown.details;
  if (!isObject(task)) throw thrown;
  return isObject(rpc) ? { ...task, status: 'failed', error: rpc } : { ...task, status: 'cancelled' };
}
