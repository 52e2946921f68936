import { approvalEnded } from '../../core/call/approval-ended.ts';
import { nameFor } from '../../core/call/name-for.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { DecidedCall, Handler, InputResponses, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { canonicalJson } from '../../core/json.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { type PreviewOf, previewCall } from '../preview-call.ts';
import { cannotRequest, unattended } from './approval-errors.ts';
import type { ApprovalFlow } from './approval-flow.ts';
import { impossibleStage } from './identities.ts';
import { type ApprovalPlan, isOpen } from './next-approval.ts';
import { excludedBy } from './plan.ts';
import { newApproval } from './subject.ts';
import { requireKnownEnd } from './unfinished-use.ts';

const MAX_ARGUMENT_BYTES = 262_144;
const REJECTION_WINDOW_MS = 600_000;
const RECENT_MS = 600_000;
const MAX_REJECTIONS = 3;

/** A call on its way through `approve`, with the rest of the pipeline. */
export interface ApprovingCall {
  /** The call without the continuation of its approval, as it was first sent. */
  readonly call: DecidedCall;
  readonly next: Handler<DecidedCall>;
  readonly plan: ApprovalPlan;
  readonly binding: string;
  readonly inputResponses: InputResponses | undefined;
  readonly flow: ApprovalFlow;
  readonly previewOf?: PreviewOf | undefined;
}

/** The end of a call whose preview refuses it: there is nothing to approve. */
interface RefusedByPreview {
  readonly refused: string;
}

/**
 * Lets a call wait for the open approval of the same call, or for a new one. Throws APPROVAL_REJECTED after a recent
 * rejection, OUTCOME_UNKNOWN after a crash, and APPROVAL_REQUIRED if none can be requested.
 */
export async function requestApproval(approving: ApprovingCall): Promise<StoredApproval | RefusedByPreview> {
  const { call, flow } = approving;
  for (;;) {
    const approval = await findOrOpen(approving);
    if ('refused' in approval) return approval;
    const waiting = { principal: approval.principal, callId: call.id, approval: approval.id };
    if (await flow.calls.join(waiting, flow.clock())) return approval; // Else it was settled meanwhile.
  }
}

async function findOrOpen(approving: ApprovingCall): Promise<StoredApproval | RefusedByPreview> {
  const { call, binding, flow, plan, inputResponses } = approving;
  const latest = await flow.box.latest(binding);
  const current = latest && (await flow.apply(latest.id, { kind: 'time' })).approval;
  if (current && isOpen(current)) return current;
  const now = flow.clock();
  requireNoRejection(current, now);
  const earlierCall = current && ((await requireKnownEnd(current, call, flow)) ?? recentCall(current, now));
  await requirePossible(approving);
  const preview = await previewCall(call, approving.previewOf);
  if (preview && 'refused' in preview) return preview;
  const shown = { fileOf: flow.fileOf, earlierCall, preview: preview?.lines };
  const wanted = newApproval(call, { plan, binding, inputResponses, now: flow.clock(), ...shown });
  const opened = await flow.open(wanted);
  if ('limit' in opened) throw tooManyOpen(approving, opened.limit);
  return opened.approval;
}

/**
 * Throws if another identity rejected the same call within 10 minutes, or the tool was rejected three times: the user at
 * the terminal waits, too. Users may change their own minds.
 */
export async function requireNotRejected(approving: ApprovingCall): Promise<void> {
  const { call, binding, flow } = approving;
  const latest = await flow.box.latest(binding);
  if (latest && !isOwnRejection(latest)) requireNoRejection(latest, flow.clock());
  await requireFewRejections(approving, call.target.publicName);
}

const isOwnRejection = ({ decisions, principal }: StoredApproval): boolean =>
  decisions.every(({ verdict, by, roles }) => verdict === 'approve' || vaultPrincipal({ id: by, roles }) === principal);

/** Returns the id of the call that used an approval within 10 minutes: a client may have repeated it by mistake. */
const recentCall = ({ status, callId, settledAt = 0, subject }: StoredApproval, now: number): string | undefined =>
  status === 'used' && subject.kind !== 'sampling' && now - settledAt < RECENT_MS ? callId : undefined;

function requireNoRejection(latest: StoredApproval | undefined, now: number): void {
  if (latest?.status !== 'rejected' || now - (latest.settledAt ?? 0) >= REJECTION_WINDOW_MS) return;
  throw approvalEnded(latest) ?? new Error('A rejected approval has ended.');
}

/** Throws APPROVAL_REQUIRED if no approval can be requested for a call. */
async function requirePossible(approving: ApprovingCall): Promise<void> {
  const { call, plan, flow, inputResponses } = approving;
  const { kind, target, caller, input, extraParams = null, meta } = call;
  if (flow.settings().approvals.unattended) throw unattended(call);
  if (kind === 'completion') throw cannotRequest(call, 'A completion requests no approval.');
  const sent = canonicalJson([input, extraParams, meta, (inputResponses as JsonObject | undefined) ?? null]);
  if (Buffer.byteLength(sent) > MAX_ARGUMENT_BYTES) {
    throw cannotRequest(
      call,
      `Its arguments and \`_meta\` are larger than ${MAX_ARGUMENT_BYTES / 1024} KB.`,
      'Send less at once.',
    );
  }
  const except = excludedBy(plan, caller);
  const stage = impossibleStage({ ...plan, ...(except !== undefined && { except }) }, await flow.identities());
  if (stage !== undefined && !isFormEnough(approving)) throw nobodyCan(approving, stage);
  await requireFewRejections(approving, target.publicName);
}

/** Without a rule the requester may approve by a form, whether or not another identity exists. */
const isFormEnough = ({ plan }: ApprovingCall) => plan.approvalRule === undefined && plan.client;

async function requireFewRejections({ call, flow }: ApprovingCall, name: string): Promise<void> {
  const now = flow.clock();
  const principal = vaultPrincipal(call.caller);
  const times = await flow.box.rejections(principal, name, now - 2 * REJECTION_WINDOW_MS);
  const until = refusedUntil(times);
  if (until === undefined || now >= until) return;
  throw new HeddleError(
    'APPROVAL_REQUIRED',
    `${nameFor(call)} was rejected ${MAX_REJECTIONS} times within 10 minutes, so no approval is requested.`,
    { fix: `Change the plan, or call again after ${new Date(until).toISOString()}.`, details: { until } },
  );
}

/** Returns the end of the refusal: 10 minutes after the third rejection within 10 minutes. */
export function refusedUntil(rejectedAt: readonly number[]): number | undefined {
  const times = rejectedAt.toSorted((a, b) => a - b);
  const third = times.findLast((time, at) => {
    const first = times[at - MAX_REJECTIONS + 1];
    return first !== undefined && time - first <= REJECTION_WINDOW_MS;
  });
  return third === undefined ? undefined : third + REJECTION_WINDOW_MS;
}

const tooManyOpen = ({ call }: ApprovingCall, limit: 'perPrincipal' | 'total') =>
  cannotRequest(
    call,
    limit === 'total' ? 'Too many approvals are open.' : `${call.caller.id} has 50 open approvals.`,
    'Decide about the open ones first: `heddle approvals list` shows them.',
  );

const nobodyCan = ({ call, plan }: ApprovingCall, stage: number) => {
  const { approvers = [], need = 1 } = plan.stages[stage] ?? {};
  return cannotRequest(
    call,
    `No identity can give the ${need} of ${approvers.join(', ')} that the approval rule ${plan.approvalRule} needs.`,
    'Create such a key with `heddle key create`, or change the rule in `approvals.rules`.',
  );
};
