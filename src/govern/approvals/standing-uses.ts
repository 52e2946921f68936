import { newCallId } from '../../core/call/call-id.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { StandingApproval, StandingWish } from '../../core/records/approval.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import type { ApprovalFlow } from './approval-flow.ts';
import { countsWith, type Identities } from './identities.ts';
import type { ApprovingCall } from './open-approval.ts';
import { mayApproveIn } from './stage-progress.ts';
import { configuredStanding, hasMatchingArguments, isUsable, settlesCall } from './standing.ts';
import { newApprovalId } from './subject.ts';

/**
 * Finds a standing approval for a call and counts its use. Those of the configuration come first. `beforeUse` runs once,
 * with the first that covers the call.
 */
export async function useStanding(
  { call, plan, flow }: ApprovingCall,
  beforeUse: (standing: StandingApproval) => Promise<void>,
): Promise<StandingApproval | undefined> {
  if (!plan.allowsStanding || call.kind === 'completion') return undefined;
  const candidate = { target: call.target, caller: call.caller, input: call.input, groups: flow.groups() };
  const settles = (one: StandingApproval) => settlesCall(one, candidate, flow.clock());
  const configured = configuredStanding(flow.settings().approvals.standing).find(settles);
  if (configured) {
    await beforeUse(configured);
    return configured;
  }
  const identities = await flow.identities();
  const stillCounts = (one: StandingApproval) => isStillGranted(one, { call, plan, identities });
  const covering = (await flow.standing.all()).filter((one) => settles(one) && stillCounts(one));
  if (covering[0]) await beforeUse(covering[0]);
  for (const one of covering) {
    if (await flow.standing.use(one.id)) return one;
  }
  return undefined;
}

interface GrantCheck extends Pick<ApprovingCall, 'call' | 'plan'> {
  readonly identities: Identities;
}

/** Returns true if the approver may still decide by the rule in force, and neither key is another one of the same name. */
function isStillGranted(one: StandingApproval, { call, plan, identities }: GrantCheck): boolean {
  const { approvedBy, approverRoles: roles = [], createdAt: at } = one;
  const counts = countsWith(identities);
  const [stage] = plan.stages;
  const staged = { ...plan, principal: vaultPrincipal(call.caller) };
  return (
    [approvedBy, call.caller.id].every((by) => counts({ by, at })) &&
    stage !== undefined &&
    mayApproveIn(staged, stage, { id: approvedBy, roles })
  );
}

const MAX_PENDING = 10_000;

/** Approves the pending approvals that a new standing approval covers. Each counts as one use. */
export async function settlePending(
  flow: ApprovalFlow,
  standing: StandingApproval,
  approver: Caller,
): Promise<readonly StoredApproval[]> {
  const pending = await flow.box.list({ statuses: ['pending'], limit: MAX_PENDING });
  const settled: StoredApproval[] = [];
  for (const approval of pending.toReversed()) {
    if (!covers(standing, approval, flow.clock())) continue;
    if (!(await flow.standing.use(standing.id))) break;
    const via = `standing ${standing.id}`;
    settled.push(await flow.decide(approver, approval.id, { verdict: 'approve', via }).catch(() => approval));
  }
  return settled;
}

function covers(standing: StandingApproval, approval: StoredApproval, now: number): boolean {
  const { subject, principal, session, allowsStanding } = approval;
  return (
    allowsStanding &&
    isUsable(standing, now) &&
    standing.caller === principal &&
    standing.tool === subject.name &&
    standing.digest === subject.digest &&
    (standing.session === undefined || standing.session === session) &&
    isObject(subject.arguments) &&
    hasMatchingArguments(standing, subject.arguments)
  );
}

export interface NewStanding {
  readonly by: Caller;
  /** The approval with its exact arguments, as it was before the decision. */
  readonly approval: StoredApproval;
  readonly wish: StandingWish;
}

/** Throws INPUT_INVALID if an approval cannot become a standing one, or its own arguments do not match. */
export function requireStandingPossible(approval: StoredApproval, wish: StandingWish): void {
  const { allowsStanding, session, subject, id } = approval;
  if (!allowsStanding) throw noStanding(id, 'its rule allows none');
  if (wish.session && session === undefined) throw noStanding(id, 'its requester has no session');
  const globs = { arguments: wish.arguments ?? {} };
  if (!isObject(subject.arguments) || subject.isSanitised) return; // It is settled; deciding says so.
  if (!hasMatchingArguments(globs, subject.arguments)) throw noStanding(id, 'its own arguments do not match');
}

/** Stores a standing approval for the requester and the exact tool, then settles what it covers. */
export async function addStanding(flow: ApprovalFlow, { by, approval, wish }: NewStanding): Promise<StandingApproval> {
  const now = flow.clock();
  const { subject, principal, session } = approval;
  const standing: StandingApproval = {
    id: newApprovalId('st'),
    tool: subject.name,
    caller: principal,
    arguments: wish.arguments ?? {},
    digest: subject.digest,
    approvedBy: by.id,
    approverRoles: by.roles,
    createdAt: now,
    from: 'store',
    ...(wish.session && session !== undefined && { session }),
    ...(wish.untilMs !== undefined && { expiresAt: now + wish.untilMs }),
    ...(wish.uses !== undefined && { usesLeft: wish.uses }),
  };
  await flow.audit.appendDurably({
    callId: newCallId(),
    phase: 'intent',
    at: now,
    caller: by.id,
    via: by.via,
    name: 'approvals.standing.add',
    detail: { standing: standing.id, approval: approval.id, tool: standing.tool, for: principal, ...wish },
  });
  await flow.standing.add(standing);
  await settlePending(flow, standing, by);
  return standing;
}

const noStanding = (id: string, why: string) =>
  new HeddleError('INPUT_INVALID', `${id} cannot become a standing approval: ${why}.`, {
    fix: 'Approve this call alone.',
    details: { approval: id },
  });
