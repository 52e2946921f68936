import { newCallId } from '../../core/call/call-id.ts';
import type { Call, JsonObject, Result } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INVALID_PARAMS } from '../../wire/mcp.ts';
import type { Continuations } from '../continuations/continuations.ts';
import type { GatewayTask } from '../continuations/gateway-task.ts';
import { toInputResponses } from '../continuations/input-required.ts';
import { toModernInputRequests } from '../continuations/modern-input-requests.ts';
import type { TaskRoute } from '../continuations/task-ids.ts';
import type { RequestContext, RequestHandler } from '../request-context.ts';
import { withoutReserved } from '../reserved-meta.ts';
import { toReadError } from '../to-rpc-error.ts';
import { requireTaskSupport } from './client-capabilities.ts';
import { toCall } from './to-call.ts';

/** How a modern client asks about a task, whoever is at it: its server, or this gateway. */
export function taskMethods(heddle: Heddle, { tasks, gatewayTasks }: Continuations): Record<string, RequestHandler> {
  function routeOf(method: string, params: JsonObject, asked: RequestContext): TaskRoute {
    requireTaskSupport(params);
    const route = tasks.open(params.taskId, asked);
    if (typeof route !== 'string') return route;
    heddle.access.refused(asked.caller, { callId: newCallId(), name: method, reason: route });
    // One sentence for all reasons: whoever tries ids out learns nothing.
    throw new RpcError(INVALID_PARAMS, 'Invalid or expired taskId', { reason: 'invalid_task_id' });
  }

  /** The call as it was, as far as its id says: without its arguments, which were checked when it began. */
  function callOf({ callId, name, capabilities }: TaskRoute, { _meta = {} }: JsonObject, asked: RequestContext): Call {
    const { capabilities: _, ...call } = toCall({ kind: 'tool', name, input: {} }, { _meta }, asked);
    return { ...call, id: callId, ...(capabilities && { capabilities }) };
  }

  function heldBy({ at, isElsewhere }: TaskRoute, asked: RequestContext): GatewayTask | undefined {
    if (at.kind !== 'held') return undefined;
    const found = isElsewhere ? undefined : gatewayTasks.find(at.ticket, asked);
    if (!found) throw new RpcError(INVALID_PARAMS, GONE, { reason: 'invalid_task_id' });
    return found;
  }

  async function goOn(route: TaskRoute, call: Call, more: { readonly cancels?: true } = {}): Promise<Result> {
    if (route.at.kind === 'held') throw new TypeError('What is held here is not asked for elsewhere.');
    try {
      return await heddle.dispatch({ ...call, continuation: { ...route.at, ...more } });
    } catch (thrown) {
      const error = HeddleError.from(thrown);
      if (isObject(error.details.task)) throw error;
      throw toReadError(error, call, 'modern');
    }
  }

  return {
    'tasks/get': async (method, params, asked) => {
      const route = routeOf(method, params, asked);
      const taskId = params.taskId as string;
      const here = heldBy(route, asked);
      if (here) return { ...here.describe(), taskId };
      const said = await goOn(route, callOf(route, params, asked)).then(described, ended);
      return { ...withoutReserved(said), taskId };
    },
    'tasks/update': async (method, params, asked) => {
      const route = routeOf(method, params, asked);
      const call = callOf(route, params, asked);
      const answers = toInputResponses(params.inputResponses);
      const here = heldBy(route, asked);
      if (here) answerHere(here, answers, call);
      else await goOn(route, { ...call, inputResponses: answers });
      return {};
    },
    'tasks/cancel': async (method, params, asked) => {
      const route = routeOf(method, params, asked);
      const here = heldBy(route, asked);
      if (here) here.cancel();
      else await goOn(route, callOf(route, params, asked), { cancels: true });
      return {};
    },
  };
}

const GONE =
  'The gateway that held this task is gone, or did not keep it any longer. Look whether the call has had effects.';

function answerHere(here: GatewayTask, answers: NonNullable<Call['inputResponses']>, call: Call): void {
  try {
    here.answer(answers);
  } catch (thrown) {
    throw toReadError(HeddleError.from(thrown), call, 'modern');
  }
}

/** Where a task stands, in the words of MCP. */
function described(result: Result): JsonObject {
  if (result.kind === 'working') return { ...result.task };
  if (result.kind === 'complete') return { ...result.task, status: 'completed', result: withoutReserved(result.value) };
  return { ...result.task, status: 'input_required', inputRequests: toModernInputRequests(result.inputRequests) };
}

/** A task that came to no result has come to its end all the same. */
function ended(thrown: unknown): JsonObject {
  if (!HeddleError.is(thrown)) throw thrown;
  const { task, rpc } = thrown.details;
  if (!isObject(task)) throw thrown;
  return isObject(rpc) ? { ...task, status: 'failed', error: rpc } : { ...task, status: 'cancelled' };
}
