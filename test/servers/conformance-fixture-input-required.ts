// Input requests of a modern server: it returns `input_required` and is called again with all responses so far.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '../../src/core/call.ts';
import { isObject } from '../../src/core/json.ts';
import {
  Failure,
  INVALID_PARAMS,
  type InputResponses,
  missingCapability,
  type ToolContext,
} from './conformance-fixture.ts';

export const MISSING_CAPABILITY = -32021;
const SECRET = randomBytes(32);

/** Ends a tool call that needs input. It carries the `input_required` result. */
export class InputRequired extends Error {
  readonly result: JsonObject;

  constructor(result: JsonObject) {
    super('The tool needs input of the client.');
    this.result = result;
  }
}

/** Returns the input responses that a call has brought so far; without them it throws `InputRequired`. */
export function inputRequester(params: JsonObject, capabilities: JsonObject): ToolContext['requestInput'] {
  const received: InputResponses[] = openState(params.requestState);
  let fresh: JsonObject | undefined = isObject(params.inputResponses) ? params.inputResponses : {};
  let turn = 0;
  return async (inputRequests, { sealed = false } = {}) => {
    const earlier = received[turn++];
    if (earlier) return earlier;
    for (const inputRequest of Object.values(inputRequests)) {
      const requiredCapabilities = missingCapability(capabilities, inputRequest);
      if (!requiredCapabilities) continue;
      throw new Failure(MISSING_CAPABILITY, `${inputRequest.method} is not supported by the client.`, {
        requiredCapabilities,
      });
    }
    const responses = pickResponses(fresh, Object.keys(inputRequests));
    fresh = undefined;
    if (responses) {
      received.push(responses);
      return responses;
    }
    const state = sealed || received.length > 0 ? { requestState: sealState(received) } : {};
    throw new InputRequired({ resultType: 'input_required', inputRequests: inputRequests as never, ...state });
  };
}

/** Returns the responses of all keys; undefined if one is missing. */
function pickResponses(responses: JsonObject | undefined, keys: readonly string[]): InputResponses | undefined {
  const picked: Record<string, JsonObject> = {};
  for (const key of keys) {
    const response = responses?.[key];
    if (!isObject(response)) return undefined;
    picked[key] = response;
  }
  return picked;
}

const macOf = (body: string) => createHmac('sha256', SECRET).update(body).digest('base64url');

function sealState(received: readonly InputResponses[]): string {
  const body = Buffer.from(JSON.stringify(received)).toString('base64url');
  return `${body}.${macOf(body)}`;
}

function openState(state: unknown): InputResponses[] {
  if (state === undefined) return [];
  const [body = '', mac = ''] = typeof state === 'string' ? state.split('.') : [];
  const [expected, actual] = [Buffer.from(macOf(body)), Buffer.from(mac)];
  if (expected.length === actual.length && timingSafeEqual(expected, actual)) {
    return JSON.parse(Buffer.from(body, 'base64url').toString());
  }
  throw new Failure(INVALID_PARAMS, 'The requestState was not sealed by this server.');
}
