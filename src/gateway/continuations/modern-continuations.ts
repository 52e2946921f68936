import { APPROVAL_FORM_KEY } from '../../core/call/approval.ts';
import { approvalPending } from '../../core/call/approval-pending.ts';
import { serverOf } from '../../core/call/continuation.ts';
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

/** Translates continuations for modern clients: `input_required` results out, `requestState` and `inputResponses` in. */
export interface ModernContinuations {
  /** Adds the client's `inputResponses` and `requestState` to the call. Throws an `RpcError` for an invalid state. */
  resume(call: Call, params: JsonObject): Call;
  /** Converts an error of a resumed call. A state that the dispatch rejected becomes the error for an invalid state. */
  toRpcError(thrown: unknown, call: Call): unknown;
  toResult(result: Result | GatewayTask, call: Call): JsonObject;
}

export function modernContinuations(
  { states, tasks }: Continuations,
  access: Pick<Access, 'refused'>,
): ModernContinuations {
  function refusal(call: Call, reason: string): RpcError {
    access.refused(call.caller, { callId: call.id, name: call.name, reason });
    // The message is the same for every reason, so that guessing states reveals nothing.
    return new RpcError(INVALID_PARAMS, 'Invalid or expired requestState', { reason: 'invalid_request_state' });
  }

  function open(text: unknown, call: Call): OpenedState {
    const opened = states.open(text, call);
    if (typeof opened === 'string') throw refusal(call, opened);
    return opened;
  }

  /** Converts a task to a `CreateTaskResult`. Its sealed id contains the route, so the gateway stores nothing. */
  function toCreateTaskResult(task: JsonObject, at: TaskRoute['at'], call: Call): JsonObject {
    const { inputRequests: _, result: __, error: ___, ...seed } = task;
    const ttlMs = typeof task.ttlMs === 'number' ? task.ttlMs : null;
    return { ...seed, resultType: 'task', taskId: tasks.seal(at, call, ttlMs) };
  }

  return {
    resume(call, { inputResponses, requestState }) {
      const responses = inputResponses === undefined ? {} : { inputResponses: toInputResponses(inputResponses) };
      if (requestState === undefined) return { ...call, ...withoutForm(responses) };
      const { callId, continuation, isElsewhere } = open(requestState, call);
      if (isElsewhere) {
        access.refused(call.caller, { callId, name: call.name, reason: 'held-elsewhere' });
        throw suspendedElsewhere(call, serverOf(continuation) ?? call.name);
      }
      const kept = continuation.kind === 'approval' ? responses : withoutForm(responses);
      return { ...call, ...kept, id: callId, continuation };
    },
    toRpcError(thrown, call) {
      const { distrust } = HeddleError.is(thrown) ? thrown.details : {};
      return typeof distrust === 'string' ? refusal(call, distrust) : thrown;
    },
    toResult(result, call) {
      if (result instanceof GatewayTask) return toCreateTaskResult(result.describe(), result.route, call);
      if (result.kind === 'complete') return result.value;
      if (result.kind === 'working') return toCreateTaskResult(result.task, result.continuation, call);
      if (result.kind === 'waiting') throw approvalPending(call, result.approval);
      const { inputRequests, continuation, task = {} } = result;
      if (continuation.kind === 'task') return toCreateTaskResult(task, continuation, call);
      return {
        resultType: 'input_required',
        ...(Object.keys(inputRequests).length > 0 && { inputRequests: toModernInputRequests(inputRequests) }),
        // Sealed even if the server gave no state: it names the server of the pool that gets the responses.
        requestState: states.seal(continuation, call),
      };
    },
  };
}

/** Removes the response to the form of an approval: it counts only with its own continuation, and no server gets it. */
function withoutForm({ inputResponses }: Pick<Call, 'inputResponses'>): Pick<Call, 'inputResponses'> {
  if (inputResponses === undefined) return {};
  const { [APPROVAL_FORM_KEY]: _, ...others } = inputResponses;
  return { inputResponses: others };
}

/** Reads the `inputResponses` of a client. Each is checked against its input request later. */
export function toInputResponses(value: unknown): InputResponses {
  if (!isObject(value)) throw new RpcError(INVALID_PARAMS, '`inputResponses` has to be an object.');
  // `failed` is Heddle's own marker for a client that could not answer. A client must not set it.
  const invalid = Object.keys(value).find((key) => isObject(value[key]) && 'failed' in value[key]);
  if (invalid !== undefined) {
    throw new RpcError(
      INVALID_PARAMS,
      `The input response ${JSON.stringify(invalid)} must not have a member \`failed\`.`,
    );
  }
  return value as InputResponses;
}

/** Creates the error for a call suspended in another process. Only tools have effects, so only they are OUTCOME_UNKNOWN. */
function suspendedElsewhere({ kind }: Call, server: string): HeddleError {
  const message = `The gateway that suspended the call to ${server} is gone, and the call with it.`;
  if (kind !== 'tool') return new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'maybe' });
  return new HeddleError('OUTCOME_UNKNOWN', `${message} It may have happened or not; it was not repeated.`, {
    details: { server },
  });
}
