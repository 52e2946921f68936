import { APPROVAL_FORM_KEY } from '../../core/call/approval.ts';
import { approvalRows } from '../../core/call/describe-approval.ts';
import type { InputRequest, InputResponses } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Approval, StandingWish } from '../../core/records/approval.ts';
import { type StandingChoice, standingChoices } from '../../core/standing-choices.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import type { ApprovingCall } from './open-approval.ts';
import { isDecidedByRequester } from './plan.ts';
import { BY_FORM } from './stage-progress.ts';
import { addStanding } from './standing-uses.ts';

const ONCE = 'once';

/**
 * Returns the form that asks the requester. `approve` has no default, so an empty response approves nothing. `scope` is
 * there if the requester may give standing approvals.
 */
export function approvalForm(
  approval: Approval,
  { now, choices }: { readonly now: number; readonly choices: readonly StandingChoice[] },
): Readonly<Record<string, InputRequest>> {
  const lines = approvalRows(approval, now).map(({ title, text }) => `${title}: ${text}`);
  const message = `Heddle asks for your approval of this call.\n\n${lines.join('\n')}`;
  const approve = {
    type: 'boolean',
    title: 'Approve this call',
    description: 'True runs the call once with exactly these arguments. False rejects it.',
  };
  const scope = {
    type: 'string',
    title: 'Approve',
    description: 'Once, or also later calls of the same caller.',
    enum: [ONCE, ...choices.map(({ text }) => text)],
    default: ONCE,
  };
  const properties = { approve, ...(choices.length > 0 && { scope }) };
  const requestedSchema = { type: 'object', properties, required: ['approve'] };
  return { [APPROVAL_FORM_KEY]: { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } } };
}

/** A decision in the form, with the standing approval that it also gives. */
export interface FormVerdict {
  readonly verdict: 'approve' | 'reject';
  readonly standing?: StandingWish;
}

/** Reads the response to the form. Anything but a clear yes or no, or a scope that was not offered, decides nothing. */
export function verdictIn(
  responses: InputResponses | undefined,
  choices: readonly StandingChoice[],
): FormVerdict | undefined {
  const response = responses && Object.hasOwn(responses, APPROVAL_FORM_KEY) ? responses[APPROVAL_FORM_KEY] : undefined;
  if (!isObject(response) || 'failed' in response) return undefined;
  const { action, content } = response;
  if (action === 'decline') return { verdict: 'reject' };
  if (action !== 'accept' || !isObject(content) || !Object.hasOwn(content, 'approve')) return undefined;
  if (content.approve === false) return { verdict: 'reject' };
  if (content.approve !== true) return undefined;
  const scope = Object.hasOwn(content, 'scope') ? content.scope : ONCE;
  if (scope === ONCE) return { verdict: 'approve' };
  const choice = choices.find(({ text }) => text === scope);
  return choice && { verdict: 'approve', standing: choice.wish };
}

/** Returns the standing approvals that the requester may give in the form: none unless it is an approver itself. */
export const formChoices = (approval: Approval, { call, plan }: ApprovingCall): readonly StandingChoice[] =>
  isDecidedByRequester(plan, call.caller) ? standingChoices({ ...approval, allowsStanding: plan.allowsStanding }) : [];

/** Decides a pending approval as the form says. */
export async function decideByForm(
  approval: StoredApproval,
  { verdict, standing: wish }: FormVerdict,
  { call, plan, flow }: ApprovingCall,
): Promise<void> {
  const { id, status } = approval;
  if (status !== 'pending') return;
  await flow.apply(id, { kind: 'replan', plan });
  const note = verdict === 'reject' ? 'Rejected in the form of the client.' : undefined;
  const { caller: by } = call;
  try {
    await flow.decide(by, id, { verdict, note, via: BY_FORM });
    if (wish) await addStanding(flow, { by, approval, wish });
  } catch (thrown) {
    // Another decision was faster: the call goes on with it.
    if (!HeddleError.is(thrown) || thrown.code !== 'APPROVAL_SETTLED') throw thrown;
  }
}
