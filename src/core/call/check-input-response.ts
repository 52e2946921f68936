import type { InputRequest, InputResponse } from '../call.ts';
import { HeddleError } from '../errors.ts';
import { withPlainNumbers } from '../exact-numbers.ts';
import { isObject } from '../json.ts';
import { fillForm, readForm } from './form.ts';

/** The code of a request that the user has rejected; where it is ours, the limits speak for the user. */
export const REJECTED = -1;
const ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel'];

/** An answer as its server may see it. Throws INPUT_INVALID, which names what is wrong. */
export function checkInputResponse(question: InputRequest, answer: InputResponse): InputResponse {
  if (!isObject(answer)) throw malformed('it has to be an object');
  if ('failed' in answer || question.method !== 'elicitation/create') return answer;
  const { action, content = {} } = withPlainNumbers(answer);
  if (!ACTIONS.includes(action)) throw malformed('its `action` has to be accept, decline or cancel');
  if (action !== 'accept' || question.params?.mode === 'url') return { action: action as string };
  if (!isObject(content)) throw malformed('its `content` has to be an object');
  const fields = readForm(question.params?.requestedSchema);
  return { action, content: typeof fields === 'string' ? content : fillForm(fields, content) };
}

const malformed = (why: string) =>
  new HeddleError('INPUT_INVALID', `The answer cannot be passed on: ${why}.`, { fix: 'Answer again.' });
