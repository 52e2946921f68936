import type { InputRequests } from '../../core/call/run-to-completion.ts';
import type { InputRequest, JsonObject } from '../../core/call.ts';

/** Questions in the words of modern clients. */
export const toModernInputRequests = (questions: InputRequests): JsonObject =>
  Object.fromEntries(Object.entries(questions).map(([key, one]) => [key, toModern(one)]));

/** Modern clients know no ids of visits. */
function toModern({ method, params = {} }: InputRequest): JsonObject {
  const { elicitationId, ...rest } = params;
  return { method, params: params.mode === 'url' ? rest : params };
}
