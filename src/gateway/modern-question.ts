import type { JsonObject, Question } from '../core/call.ts';
import type { Questions } from '../core/rounds.ts';

/** Questions in the words of modern clients. */
export const questionsForModern = (questions: Questions): JsonObject =>
  Object.fromEntries(Object.entries(questions).map(([key, one]) => [key, toModern(one)]));

/** Modern clients know no ids of visits. */
function toModern({ method, params = {} }: Question): JsonObject {
  const { elicitationId, ...rest } = params;
  return { method, params: params.mode === 'url' ? rest : params };
}
