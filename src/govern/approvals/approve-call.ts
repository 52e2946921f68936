import type { ApprovalContinuation, PendingApproval, UsedApproval } from '../../core/call/approval.ts';
import { approvalEnded } from '../../core/call/approval-ended.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { DecidedCall, Handler, InputResponses, Result, ServerContinuation } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { ApprovalSubject } from '../../core/records/approval.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { isSelfApproved } from '../permit.ts';
import { type PreviewOf, refusedResult } from '../preview-call.ts';
import { alreadyUsed, cancelledCall, otherCall, unattended, unknownApproval } from './approval-errors.ts';
import type { ApprovalFlow } from './approval-flow.ts';
import { approvalKind, bindingOf, digestOf, sentDigest } from './binding.ts';
import { continueCall, untilEnd, withNewProof } from './continue-call.ts';
import { approvalForm, decideByForm, formChoices, verdictIn } from './form.ts';
import { hasPerson, isKnown } from './identities.ts';
import { type ApprovingCall, requestApproval, requireNotRejected } from './open-approval.ts';
import { isDecidedByRequester, planOf } from './plan.ts';
import { BY_FORM, deciderOf, mayApproveIn, stageProgress } from './stage-progress.ts';
import { useStanding } from './standing-uses.ts';
import { requireKnownEnd } from './unfinished-use.ts';

/** Finds how a call goes on that an equal call of the same caller has left. To go on with it begins nothing. */
export type LeftCallOf = (call: DecidedCall) => Promise<ServerContinuation | undefined>;

/** Finds facts about calls that need an approval; without them no call has any. */
export interface ApproveLookups {
  /** Finds the preview of a tool, which approvers see. */
  readonly previewOf?: PreviewOf | undefined;
  readonly leftCallOf?: LeftCallOf | undefined;
}

/** Lets a call that needs an approval pass if it has one; else returns `waiting`, a form, or throws. */
export async function approveCall(
  call: DecidedCall,
  next: Handler<DecidedCall>,
  { flow, previewOf, leftCallOf }: Pick<ApprovingCall, 'flow'> & ApproveLookups,
): Promise<Result> {
  const { continuation } = call;
  if (continuation && continuation.kind !== 'approval') {
    return continueCall({ ...call, continuation }, next, { flow, isSelfApproved: isSelfApproved(call) });
  }
  const found = continuation && (await ownApproval(call, continuation, flow));
  if (found) await requireStillWanted(found, call, flow);
  const { continuation: _, inputResponses: sent, ...rest } = call;
  const inputResponses = found ? found.subject.inputResponses : sent;
  const first: DecidedCall = { ...rest, ...(inputResponses && { inputResponses }) };
  const binding = bindingOf(first, inputResponses, flow.signatureOf);
  if (found) await requireSameCall(found, { call: first, binding, flow });
  if (call.decision.effect === 'allow') {
    await settleUnneeded(found, 'The rules in force allow the call.', flow);
    return next(first);
  }
  const left = await leftCall({ call: first, binding, flow, found }, leftCallOf);
  if (left) return runApproved({ call: left.call, next, flow }, left.approval);
  const plan = await planOf(first, flow.settings().approvals, flow.clock());
  const approving: ApprovingCall = { call: first, next, plan, binding, inputResponses, flow, previewOf };
  const mayApproveItself = found !== undefined || call.target.facts.approval !== 'always';
  if (mayApproveItself && isSelfApproved(call) && isDecidedByRequester(plan, call.caller)) {
    return selfApproved(approving, found);
  }
  const own = await approvedBefore(found, approving);
  if (own) return useApproval(own, approving);
  const covered = await coveredByStanding(approving, found);
  return covered ?? (found ? answered(found, sent, approving) : requested(approving));
}

/** Returns a call as the continuation of an equal one that used its approval and was left; undefined if there is none. */
async function leftCall(
  {
    call,
    binding,
    flow,
    found,
  }: Pick<ApprovingCall, 'call' | 'binding' | 'flow'> & { readonly found?: StoredApproval | undefined },
  leftCallOf: LeftCallOf | undefined,
): Promise<{ readonly call: DecidedCall; readonly approval: UsedApproval } | undefined> {
  if (found || !leftCallOf) return undefined;
  const used = await flow.box.latest(binding);
  const continuation = used?.status === 'used' ? await leftCallOf(call) : undefined;
  return (
    used && continuation && { call: { ...call, continuation }, approval: { id: used.id, how: 'approved', by: [] } }
  );
}

/** Throws if the key of a waiting call was revoked, or its client cancelled it: no request was checked since. */
async function requireStillWanted({ principal }: StoredApproval, call: DecidedCall, flow: ApprovalFlow): Promise<void> {
  if (!isKnown(await flow.identities(), call.caller.id)) throw revokedKey(call);
  if ((await flow.calls.find(principal, call.id))?.isCancelled) throw cancelledCall(call);
}

/** Ends an approval that its call does not need any more. Throws if another dispatch of the call was faster: it runs once. */
async function settleUnneeded(found: StoredApproval | undefined, reason: string, flow: ApprovalFlow): Promise<void> {
  if (!found) return;
  const { approval, refusal } = await flow.apply(found.id, { kind: 'void', reason });
  if (refusal) throw approvalEnded(approval) ?? alreadyUsed(approval);
}

/** Finds the approval that was given for exactly this call. It is used before a standing one. */
async function approvedBefore(
  found: StoredApproval | undefined,
  { binding, plan, flow }: ApprovingCall,
): Promise<StoredApproval | undefined> {
  const own = found ?? (await flow.box.latest(binding));
  if (own?.status !== 'approved') return undefined;
  const { approval } = await flow.apply(own.id, { kind: 'replan', plan });
  return approval.status === 'approved' ? approval : undefined;
}

/** Runs a call that a standing approval covers. Its own approval ends with the use. */
async function coveredByStanding(approving: ApprovingCall, found?: StoredApproval): Promise<Result | undefined> {
  const standing = await useStanding(approving, ({ id }) =>
    settleUnneeded(found, `The standing approval ${id} covers the call.`, approving.flow),
  );
  return standing && runApproved(approving, { id: standing.id, how: 'standing', by: [standing.approvedBy] });
}

/** Goes on with a requested approval, after the response to its form if there is one. */
async function answered(
  found: StoredApproval,
  sent: InputResponses | undefined,
  approving: ApprovingCall,
): Promise<Result> {
  const isOffered = sent && (await formOf(found, approving)) === 'offered';
  const verdict = isOffered ? verdictIn(sent, formChoices(found, approving)) : undefined;
  if (verdict) await decideByForm(found, verdict, approving);
  return pursue(found.id, approving, { showsForm: false });
}

/** Finds the approval of a continuation. Those of other principals do not exist for the caller. */
async function ownApproval(
  { caller }: DecidedCall,
  { id }: ApprovalContinuation,
  flow: ApprovalFlow,
): Promise<StoredApproval> {
  const { approval } = await flow.apply(id, { kind: 'time' });
  if (approval.principal !== vaultPrincipal(caller)) throw unknownApproval(id);
  return approval;
}

/**
 * Throws if an approval was requested for another call, or is over. A changed definition or server entry makes it void:
 * its approvers decided about something else.
 */
async function requireSameCall(
  found: StoredApproval,
  { call, binding, flow }: Pick<ApprovingCall, 'call' | 'binding' | 'flow'>,
): Promise<void> {
  const { subject, id } = found;
  const { target, input, caller } = call;
  const isSameCaller = found.profile === caller.profile && found.agent === caller.agent;
  const isSameRequest = subject.kind === approvalKind(call) && subject.inputDigest === digestOf(input);
  if (!isSameRequest || !isSameCaller || subject.name !== target.publicName || sendsOther(subject, call))
    throw otherCall(found);
  const ended = approvalEnded(found);
  if (ended) throw ended;
  if (found.binding === binding || found.status === 'used') return;
  const what = subject.digest === target.digest ? 'The entry of a server' : `The definition of ${target.publicName}`;
  const reason = `${what} has changed since the approval was requested.`;
  const { approval } = await flow.apply(id, { kind: 'void', reason });
  throw approvalEnded(approval) ?? otherCall(approval);
}

/** Returns true if a call has other params or another bound `_meta`. A settled approval has no exact ones to compare. */
const sendsOther = ({ isSanitised, extraParams, meta = {} }: ApprovalSubject, call: DecidedCall): boolean =>
  !isSanitised && sentDigest(call) !== sentDigest({ input: call.input, meta, ...(extraParams && { extraParams }) });

/** Runs a call that the user approved at the terminal, and settles its approval if one was requested. */
async function selfApproved(approving: ApprovingCall, found: StoredApproval | undefined): Promise<Result> {
  const { call, flow } = approving;
  if (flow.settings().approvals.unattended) throw unattended(call);
  if (!found) {
    await requireNotRejected(approving);
    return runApproved(approving, { how: 'self', by: [call.caller.id] });
  }
  if (found.status === 'pending') await flow.decide(call.caller, found.id, { verdict: 'approve' });
  return pursue(found.id, approving, { showsForm: false });
}

/** Finds the approval of the same call, or requests one, unless its preview refuses the call. */
async function requested(approving: ApprovingCall): Promise<Result> {
  const approval = await requestApproval(approving);
  if ('refused' in approval) return refusedResult(approving.call, approval.refused);
  return pursue(approval.id, approving, { showsForm: true });
}

/** Uses an approval if it is complete by the rules in force; else waits for the missing decisions. */
async function pursue(
  id: string,
  approving: ApprovingCall,
  { showsForm }: { readonly showsForm: boolean },
): Promise<Result> {
  const { call, plan, flow } = approving;
  const { approval } = await flow.apply(id, { kind: 'replan', plan });
  const ended = approvalEnded(approval);
  if (ended) throw ended;
  if (approval.status === 'used') {
    if (approval.callId === call.id) {
      await requireKnownEnd(approval, call, flow);
      throw alreadyUsed(approval);
    }
    // Another identical call was faster; this one needs an approval of its own.
    return (await coveredByStanding(approving)) ?? requested(approving);
  }
  if (approval.status === 'approved') return useApproval(approval, approving);
  if (flow.settings().approvals.unattended) throw unattended(call);
  const form = await formOf(approval, approving);
  const pending = { ...toPending(approval, approving), ...(form === 'needs-person' && { needsPerson: true as const }) };
  const continuation = { kind: 'approval', id } as const;
  if (!showsForm || form !== 'offered') return { kind: 'waiting', approval: pending, continuation };
  const inputRequests = approvalForm(approval, { now: flow.clock(), choices: formChoices(approval, approving) });
  return { kind: 'input-required', inputRequests, approval: pending, continuation };
}

function toPending(approval: StoredApproval, { call, plan }: ApprovingCall): PendingApproval {
  const { id, expiresAt, stages } = approval;
  return {
    id,
    approvers: stages[stageProgress(approval).stage]?.approvers ?? [],
    expiresAt,
    reason: call.decision.reason,
    ...(isDecidedByRequester(plan, call.caller) && { byRequester: true }),
  };
}

/**
 * Returns `offered` if the requester may approve in the form of its client, and `needs-person` if it could with a person
 * behind its credential: a program would respond to its own form. Other front ends ask in their own way.
 */
async function formOf(
  approval: StoredApproval,
  { call, plan, flow }: ApprovingCall,
): Promise<'offered' | 'needs-person' | undefined> {
  const { caller, capabilities } = call;
  if (caller.via !== 'gateway' || !capabilities?.form || !plan.client) return undefined;
  const staged = { ...approval, ...plan };
  const stage = plan.stages[stageProgress(staged).stage];
  const hasApproved = approval.decisions.some((one) => deciderOf(one) === approval.principal);
  if (!stage || hasApproved || !mayApproveIn(staged, stage, { ...caller, via: BY_FORM })) return undefined;
  return hasPerson(await flow.identities(), caller) ? 'offered' : 'needs-person';
}

/** Marks an approval as used, then runs its call. Only one call can do that. */
async function useApproval(approval: StoredApproval, approving: ApprovingCall): Promise<Result> {
  const { call, flow } = approving;
  if (!isKnown(await flow.identities(), call.caller.id)) throw revokedKey(call);
  const isFirst = !flow.running.has(call.id);
  flow.running.add(call.id); // Before the use is visible: a concurrent call must not take it for a crash.
  const { id } = approval;
  const isOver = () => isFirst && flow.running.delete(call.id);
  const { used, refusal } = await markUsed(id, call.id, flow).catch((thrown) => {
    isOver();
    throw thrown;
  });
  if (refusal) {
    isOver();
    return pursue(id, approving, { showsForm: false });
  }
  const by = stageProgress(used).counted.map((decision) => decision.by);
  return untilEnd(() => runApproved(approving, { id, how: 'approved', by }), { id, call, flow });
}

/** Marks an approval as used by this process, which shows others that it is alive from then on. */
async function markUsed(id: string, callId: string, { apply, runner }: ApprovalFlow) {
  const name = await runner.begin();
  try {
    const { approval: used, refusal } = await apply(id, { kind: 'use', callId, runner: name });
    return { used, refusal };
  } finally {
    runner.end(); // `untilEnd` begins the call before another process can see that the lease is over.
  }
}

async function runApproved(
  { call, next, flow }: Pick<ApprovingCall, 'call' | 'next' | 'flow'>,
  approval: UsedApproval,
): Promise<Result> {
  const result = await next({ ...call, approval });
  return approval.id === undefined ? result : withNewProof(result, { id: approval.id, call, flow });
}

const revokedKey = ({ caller }: DecidedCall) =>
  new HeddleError('PERMISSION_DENIED', `The key of ${caller.id} was revoked, so its approved call does not run.`, {
    fix: 'Ask an owner for another key, and call again.',
  });
