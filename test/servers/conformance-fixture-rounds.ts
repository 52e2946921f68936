// How a server without sessions asks: it answers with its questions, and is called again with what it was told so far.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '../../src/core/call.ts';
import { isObject } from '../../src/core/json.ts';
import { type Answers, Failure, INVALID_PARAMS, lacking, type Round } from './conformance-fixture.ts';

export const MISSING_CAPABILITY = -32021;
const SECRET = randomBytes(32);

/** Thrown out of a tool that cannot go on: its result is what it wants to know. */
export class Unanswered extends Error {
  readonly result: JsonObject;

  constructor(result: JsonObject) {
    super('The client has to be asked first.');
    this.result = result;
  }
}

/** Asks by throwing `Unanswered`, unless this round or one before it has brought the answers. */
export function askingOf(params: JsonObject, capabilities: JsonObject): Round['ask'] {
  const told: Answers[] = opened(params.requestState);
  let fresh: JsonObject | undefined = isObject(params.inputResponses) ? params.inputResponses : {};
  let turn = 0;
  return async (questions, { sealed = false } = {}) => {
    const before = told[turn++];
    if (before) return before;
    for (const question of Object.values(questions)) {
      const requiredCapabilities = lacking(capabilities, question);
      if (!requiredCapabilities) continue;
      throw new Failure(MISSING_CAPABILITY, `${question.method} has to be possible.`, { requiredCapabilities });
    }
    const answers = picked(fresh, Object.keys(questions));
    fresh = undefined;
    if (answers) {
      told.push(answers);
      return answers;
    }
    const state = sealed || told.length > 0 ? { requestState: sealedState(told) } : {};
    throw new Unanswered({ resultType: 'input_required', inputRequests: questions as never, ...state });
  };
}

/** The answers to all of them, or nothing. */
function picked(given: JsonObject | undefined, keys: readonly string[]): Answers | undefined {
  const answers: Record<string, JsonObject> = {};
  for (const key of keys) {
    const answer = given?.[key];
    if (!isObject(answer)) return undefined;
    answers[key] = answer;
  }
  return answers;
}

const macOf = (body: string) => createHmac('sha256', SECRET).update(body).digest('base64url');

function sealedState(told: readonly Answers[]): string {
  const body = Buffer.from(JSON.stringify(told)).toString('base64url');
  return `${body}.${macOf(body)}`;
}

function opened(state: unknown): Answers[] {
  if (state === undefined) return [];
  const [body = '', mac = ''] = typeof state === 'string' ? state.split('.') : [];
  const [expected, given] = [Buffer.from(macOf(body)), Buffer.from(mac)];
  if (expected.length === given.length && timingSafeEqual(expected, given)) {
    return JSON.parse(Buffer.from(body, 'base64url').toString());
  }
  throw new Failure(INVALID_PARAMS, 'The requestState is not one of ours.');
}
