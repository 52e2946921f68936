import type { InputRequest, InputResponse } from '../call.ts';
import { HeddleError } from '../errors.ts';
import { withPlainNumbers } from '../exact-numbers.ts';
import { isObject } from '../json.ts';
import { fillForm, readForm } from './form.ts';

/** The JSON-RPC error code of a request that the user rejected; Heddle uses it when a limit rejects one. */
export const REJECTED = -1;
const ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel'];

/** Checks a response and returns the fields that its server may get. Throws INPUT_INVALID. */
export function checkInputResponse(request: InputRequest, response: InputResponse): InputResponse {
  if (!isObject(response)) throw malformed('it has to be an object');
  if ('failed' in response || request.method !== 'elicitation/create') return response;
  const { action, content = {} } = withPlainNumbers(response);
  if (!ACTIONS.includes(action)) throw malformed('its `action` has to be accept, decline or cancel');
  if (action !== 'accept' || request.params?.mode === 'url') return { action: action as string };
  if (!isObject(content)) throw malformed('its `content` has to be an object');
  const fields = readForm(request.params?.requestedSchema);
  return { action, content: typeof fields === 'string' ? content : fillForm(fields, content) };
}

const malformed = (reason: string) =>
  new HeddleError('INPUT_INVALID', `The answer cannot be passed on: ${reason}.`, { fix: 'Answer again.' });
