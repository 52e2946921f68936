import { newCallId } from '../../core/call/call-id.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { StandingApproval, StandingWish } from '../../core/records/approval.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import type { StoredStanding } from '../../store/approvals/standing-book.ts';
import { sanitised } from '../sanitise.ts';
import type { ApprovalFlow } from './approval-flow.ts';
import { type StandingScope, standingBinding, standingBindings } from './binding.ts';
import { countsWith, type Identities } from './identities.ts';
import { nextApproval } from './next-approval.ts';
import type { ApprovingCall } from './open-approval.ts';
import { mayApproveIn } from './stage-progress.ts';
import { configuredStanding, hasMatchingArguments, isExact, isUsable, settlesCall, unexpired } from './standing.ts';
import { newApprovalId } from './subject.ts';

/**
 * Finds a standing approval for a call and counts its use. Those of the configuration come first. `beforeRun` runs once
 * the use is counted; if it throws, the use is given back.
 */
export async function useStanding(
  { call, plan, flow }: ApprovingCall,
  beforeRun: (standing: StandingApproval) => Promise<void>,
): Promise<StandingApproval | undefined> {
  if (!plan.allowsStanding || call.kind === 'completion') return undefined;
  const { target, caller, input } = call;
  const binding = standingBindings(call, flow.signatureOf);
  const candidate = { target, caller, input, binding, groups: flow.groups() };
  const settles = (one: StandingApproval) => settlesCall(one, candidate, flow.clock());
  const configured = configuredStanding(flow.settings().approvals.standing).find(settles);
  if (configured) {
    await beforeRun(configured);
    return configured;
  }
  const identities = await flow.identities();
  const stillCounts = (one: StandingApproval) => isStillGranted(one, { call, plan, identities });
  const covering = (await unexpired(flow)).filter((one) => settles(one) && stillCounts(one));
  for (const one of covering) {
    if (!(await flow.standing.use(one.id))) continue;
    try {
      await beforeRun(one);
    } catch (thrown) {
      await flow.standing.giveBack(one.id);
      throw thrown;
    }
    return one;
  }
  return undefined;
}

const scopeOfApproval = ({ subject, profile, agent, principal }: StoredApproval): StandingScope => ({
  ...subject,
  profile,
  agent,
  principal,
});

interface GrantCheck extends Pick<ApprovingCall, 'call' | 'plan'> {
  readonly identities: Identities;
}

/** Returns true if the approver may still decide by the rule in force, and neither key is another one of the same name. */
function isStillGranted(one: StandingApproval, { call, plan, identities }: GrantCheck): boolean {
  const { approvedBy, approverRoles: roles = [], createdAt: at } = one;
  const counts = countsWith(identities);
  const [stage] = plan.stages;
  const { agent } = call.caller;
  const staged = { ...plan, principal: vaultPrincipal(call.caller), ...(agent !== undefined && { agent }) };
  return (
    counts({ by: approvedBy, at, roles }) &&
    counts({ by: call.caller.id, at }) &&
    stage !== undefined &&
    mayApproveIn(staged, stage, { id: approvedBy, roles })
  );
}

/** A caller has fewer pending approvals. */
const MAX_PENDING = 100;

/** Approves the pending approvals that a new standing approval covers and completes. Each counts as one use. */
async function settlePending(
  flow: ApprovalFlow,
  standing: StandingApproval & { readonly caller: string },
  approver: Caller,
): Promise<readonly string[]> {
  const { tool: name, caller: principal } = standing;
  const pending = await flow.box.list({ statuses: ['pending'], principal, name, limit: MAX_PENDING });
  const via = `standing ${standing.id}`;
  const settled: string[] = [];
  for (const { id } of pending.toReversed()) {
    const approval = await flow.box.get(id); // A list cuts exact arguments.
    if (!approval || !covers(standing, approval, flow) || !completes(approval, { approver, via, now: flow.clock() }))
      continue;
    if (!(await flow.standing.use(standing.id))) break;
    const decided = await flow.decide(approver, approval.id, { verdict: 'approve', via }).catch(() => undefined);
    if (decided?.status === 'approved') settled.push(approval.id);
  }
  return settled;
}

/** Returns true if one more decision of the approver completes an approval. A use is counted only then. */
function completes(
  approval: StoredApproval,
  { approver: by, via, now }: { readonly approver: Caller; readonly via: string; readonly now: number },
): boolean {
  const { approval: next } = nextApproval(approval, { kind: 'decide', by, verdict: 'approve', via }, { now });
  return next.status === 'approved';
}

function covers(standing: StandingApproval, approval: StoredApproval, { clock, signatureOf }: ApprovalFlow): boolean {
  const { subject, session, allowsStanding } = approval;
  return (
    allowsStanding &&
    isUsable(standing, clock()) &&
    standing.tool === subject.name &&
    standing.binding ===
      standingBinding(scopeOfApproval(approval), signatureOf, isExact(standing) ? subject.arguments : undefined) &&
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
  if (!allowsStanding) throw noStanding(id, 'its tool or its rule allows none');
  if (wish.session && approval.via === 'cli') throw noStanding(id, 'a command ends with its session');
  if (wish.session && session === undefined) throw noStanding(id, 'its requester has no session');
  const globs = { arguments: wish.arguments ?? {} };
  if (!isObject(subject.arguments) || subject.isSanitised) return; // It is settled; deciding says so.
  if (!hasMatchingArguments(globs, subject.arguments)) throw noStanding(id, 'its own arguments do not match');
}

export interface AddedStanding {
  readonly standing: StandingApproval;
  /** The ids of the pending approvals that it completed. */
  readonly settled: readonly string[];
}

/** Stores a standing approval for the requester and the exact tool, then settles what it covers. */
export async function addStanding(flow: ApprovalFlow, { by, approval, wish }: NewStanding): Promise<AddedStanding> {
  const now = flow.clock();
  const { subject, principal, session, profile, agent } = approval;
  const exactly = wish.exactly ? subject.arguments : undefined;
  const standing: StoredStanding & { readonly caller: string } = {
    id: newApprovalId('st'),
    tool: subject.name,
    caller: principal,
    arguments: wish.arguments ?? {},
    digest: subject.digest,
    binding: standingBinding(scopeOfApproval(approval), flow.signatureOf, exactly),
    approvedBy: by.id,
    approverRoles: by.roles,
    createdAt: now,
    from: 'store',
    ...(profile !== undefined && { profile }),
    ...(agent !== undefined && { agent }),
    ...(exactly !== undefined && { exactly: isObject(exactly) ? sanitised(exactly) : null }),
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
    detail: { standing: standing.id, approval: approval.id, tool: standing.tool, for: principal, agent, ...wish },
  });
  await flow.standing.add(standing);
  return { standing, settled: await settlePending(flow, standing, by) };
}

const noStanding = (id: string, why: string) =>
  new HeddleError('INPUT_INVALID', `${id} cannot become a standing approval: ${why}.`, {
    fix: 'Approve this call alone.',
    details: { approval: id },
  });
