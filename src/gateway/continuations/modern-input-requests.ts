import type { InputRequests } from '../../core/call/run-to-completion.ts';
import type { InputRequest, JsonObject } from '../../core/call.ts';

/** Converts input requests to those of 2026-07-28. */
export const toModernInputRequests = (inputRequests: InputRequests): JsonObject =>
  Object.fromEntries(Object.entries(inputRequests).map(([key, one]) => [key, toModern(one)]));

/** Removes the `elicitationId` of a URL elicitation, which 2026-07-28 does not have. */
function toModern({ method, params = {} }: InputRequest): JsonObject {
  const { elicitationId, ...rest } = params;
  return { method, params: params.mode === 'url' ? rest : params };
}
