import { APPROVAL_FORM_KEY } from '../../core/call/approval.ts';
import { approvalRows } from '../../core/call/describe-approval.ts';
import type { InputRequest, InputResponses } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Approval } from '../../core/records/approval.ts';

/** Returns the form that asks the requester. `approve` has no default, so an empty response approves nothing. */
export function approvalForm(approval: Approval, now: number): Readonly<Record<string, InputRequest>> {
  const lines = approvalRows(approval, now).map(({ title, text }) => `${title}: ${text}`);
  const message = `Heddle asks for your approval of this call.\n\n${lines.join('\n')}`;
  const approve = {
    type: 'boolean',
    title: 'Approve this call',
    description: 'True runs the call once with exactly these arguments. False rejects it.',
  };
  const requestedSchema = { type: 'object', properties: { approve }, required: ['approve'] };
  return { [APPROVAL_FORM_KEY]: { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } } };
}

/** Reads the response to the form. Anything but a clear yes or no decides nothing. */
export function verdictIn(responses: InputResponses | undefined): 'approve' | 'reject' | undefined {
  const response = responses && Object.hasOwn(responses, APPROVAL_FORM_KEY) ? responses[APPROVAL_FORM_KEY] : undefined;
  if (!isObject(response) || 'failed' in response) return undefined;
  const { action, content } = response;
  if (action === 'decline') return 'reject';
  if (action !== 'accept' || !isObject(content) || !Object.hasOwn(content, 'approve')) return undefined;
  if (content.approve === true) return 'approve';
  return content.approve === false ? 'reject' : undefined;
}
