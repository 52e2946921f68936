import type { Call, InputResponses, JsonObject, Result } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Access } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { INVALID_PARAMS } from '../../wire/mcp.ts';
import type { Continuations } from './continuations.ts';
import { GatewayTask } from './gateway-task.ts';
import { toModernInputRequests } from './modern-input-requests.ts';
import type { OpenedState } from './request-state.ts';
import type { TaskRoute } from './task-ids.ts';

/** Rounds of clients without a session: a question is an answer, and they come back with what it has to go on with. */
export interface ModernContinuations {
  /** The call, with what the client brings back. Throws an `RpcError` for a state that is not believed. */
  resume(call: Call, params: JsonObject): Call;
  /** What a round failed with, as its client may hear it: a state may turn out to be worth nothing only on the way. */
  toRpcError(thrown: unknown, round: Call): unknown;
  toResult(result: Result | GatewayTask, call: Call): JsonObject;
}

export function modernContinuations(
  { states, tasks }: Continuations,
  access: Pick<Access, 'refused'>,
): ModernContinuations {
  function refusal(call: Call, reason: string): RpcError {
    access.refused(call.caller, { callId: call.id, name: call.name, reason });
    // One sentence for all reasons: whoever tries states out learns nothing.
    return new RpcError(INVALID_PARAMS, 'Invalid or expired requestState', { reason: 'invalid_request_state' });
  }

  function open(text: unknown, call: Call): OpenedState {
    const opened = states.open(text, call);
    if (typeof opened === 'string') throw refusal(call, opened);
    return opened;
  }

  /** The id says where it goes on, so that nobody has to remember that. */
  function created(task: JsonObject, at: TaskRoute['at'], call: Call): JsonObject {
    const { inputRequests: _, result: __, error: ___, ...seed } = task;
    const ttlMs = typeof task.ttlMs === 'number' ? task.ttlMs : null;
    return { ...seed, resultType: 'task', taskId: tasks.seal(at, call, ttlMs) };
  }

  return {
    resume(call, { inputResponses, requestState }) {
      const answers = inputResponses === undefined ? {} : { inputResponses: toInputResponses(inputResponses) };
      if (requestState === undefined) return { ...call, ...answers };
      const { callId, next, isElsewhere } = open(requestState, call);
      if (isElsewhere) {
        access.refused(call.caller, { callId, name: call.name, reason: 'held-elsewhere' });
        throw heldElsewhere(call, next.server);
      }
      return { ...call, ...answers, id: callId, continuation: next };
    },
    toRpcError(thrown, round) {
      const { distrust } = HeddleError.is(thrown) ? thrown.details : {};
      return typeof distrust === 'string' ? refusal(round, distrust) : thrown;
    },
    toResult(result, call) {
      if (result instanceof GatewayTask)
        return created(result.describe(), { kind: 'held', ticket: result.ticket }, call);
      if (result.kind === 'complete') return result.value;
      if (result.kind === 'working') return created(result.task, result.continuation, call);
      const { inputRequests, continuation, task = {} } = result;
      if (continuation.kind === 'task') return created(task, continuation, call);
      return {
        resultType: 'input_required',
        ...(Object.keys(inputRequests).length > 0 && { inputRequests: toModernInputRequests(inputRequests) }),
        // Even where the server remembers nothing: the answers are for the one that asked, and for no other of its pool.
        requestState: states.seal(continuation, call),
      };
    },
  };
}

/** What a client answers. Whether each fits its question is for whoever asked to say. */
export function toInputResponses(given: unknown): InputResponses {
  if (!isObject(given)) throw new RpcError(INVALID_PARAMS, '`inputResponses` has to be an object.');
  const failed = Object.keys(given).find((key) => isObject(given[key]) && 'failed' in given[key]);
  if (failed !== undefined) throw new RpcError(INVALID_PARAMS, `The answer ${JSON.stringify(failed)} is none.`);
  return given as InputResponses;
}

/** Only tools change anything. */
function heldElsewhere({ kind }: Call, server: string): HeddleError {
  const message = `The gateway that held the question of ${server} is gone, and the call with it.`;
  if (kind !== 'tool') return new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'maybe' });
  return new HeddleError('OUTCOME_UNKNOWN', `${message} It may have happened or not; it was not repeated.`, {
    details: { server },
  });
}
