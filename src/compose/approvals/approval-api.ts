import { requireRole } from '../../core/call/caller.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Approval, ApprovalStatus } from '../../core/records/approval.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import { unknownApproval } from '../../govern/approvals/approval-errors.ts';
import type { ApprovalFlow } from '../../govern/approvals/approval-flow.ts';
import { checkVerdict } from '../../govern/approvals/check-verdict.ts';
import { isApprovalId, nextApproval } from '../../govern/approvals/next-approval.ts';
import { configuredStanding, unexpired } from '../../govern/approvals/standing.ts';
import { addStanding, requireStandingPossible } from '../../govern/approvals/standing-uses.ts';
import { requireFormContent } from '../../govern/approvals/steps/step-approval.ts';
import type { Approvals } from '../../heddle.ts';
import type { ApprovalFilter, StoredApproval } from '../../store/approval-box.ts';
import type { StandingBook, StoredStanding } from '../../store/approvals/standing-book.ts';
import { auditedChanges } from '../audited-change.ts';
import { APPROVAL_READERS } from '../change-publishers.ts';

const STATUSES = ['pending', 'approved', 'rejected', 'timeout', 'expired', 'used', 'void'] as const;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;
const ID = /^(ap|st)_[a-z0-9]{0,16}$/;

/**
 * Returns the approvals of the flow. Owners, approvers and auditors see all; a requester sees its own. A caller with a
 * profile sees those of its profile alone.
 */
export function approvalApi(openFlow: () => Promise<ApprovalFlow>): Omit<Approvals, 'findings'> {
  async function find(by: Caller, id: string): Promise<{ flow: ApprovalFlow; found: StoredApproval }> {
    const flow = await openFlow();
    const candidates = ID.test(id) ? (await flow.box.find(id)).filter((one) => mayRead(by, one)) : [];
    const [found, other] = candidates;
    if (!found) throw unknownApproval(id);
    if (other) throw ambiguous(id, candidates);
    return { flow, found };
  }

  return {
    async list(by, { status = 'pending', limit = DEFAULT_LIMIT } = {}) {
      const filter = filterFor(by, status);
      const most = limitOf(limit);
      const flow = await openFlow();
      await flow.sweepPage();
      const now = flow.clock();
      const rows = await listFor(by, flow, { ...filter, limit: most, ...(status !== 'all' && { now }) });
      return rows.map((one) => toPublic(nextApproval(one, { kind: 'time' }, { now }).approval));
    },
    async count(by, { status = 'pending' } = {}) {
      const flow = await openFlow();
      const filter = { ...filterFor(by, status), ...(status !== 'all' && { now: flow.clock() }) };
      if (by.profile === undefined) return flow.box.count(filter);
      return (await listFor(by, flow, { ...filter, limit: MAX_LIMIT })).length;
    },
    async get(by, id) {
      const { flow, found } = await find(by, id);
      const { approval } = await flow.apply(found.id, { kind: 'time' });
      return { ...toPublic(approval), ...(isUndecidable(by, approval, flow.clock()) && { decidable: false }) };
    },
    async decide(by, id, given) {
      const { verdict, note, standing, content } = checkVerdict(given);
      const { flow, found } = await find(by, id);
      if (verdict === 'approve') await requireFormContent(found, content);
      if (standing) requireStandingPossible(found, standing);
      const approval = await flow.decide(by, found.id, { verdict, note, content });
      if (!standing) return toPublic(approval);
      const { settled } = await addStanding(flow, { by, approval: found, wish: standing });
      return { ...toPublic(approval), ...(settled.length > 0 && { alsoApproved: settled }) };
    },
    async settled(by, id, signal) {
      const { flow, found } = await find(by, id);
      return toPublic(await flow.settled(found.id, signal));
    },
    async ofCall(by, callId) {
      const flow = await openFlow();
      const found = await flow.calls.find(vaultPrincipal(by), callId);
      if (!found || !isApprovalId(found.approval)) return undefined;
      const { approval } = await flow.apply(found.approval, { kind: 'time' });
      return { approval: toPublic(approval), isCancelled: found.isCancelled };
    },
    withdraw: async (by, callId) => (await openFlow()).withdraw(by, callId),
    standing: standingOf(openFlow),
  };
}

function standingOf(openFlow: () => Promise<ApprovalFlow>): Approvals['standing'] {
  return {
    async list(by) {
      requireRole(by, APPROVAL_READERS);
      const flow = await openFlow();
      const configured = configuredStanding(flow.settings().approvals.standing);
      return [...configured, ...(await unexpired(flow))].filter((one) => isInProfileOf(by, one));
    },
    async revoke(by, id) {
      requireRole(by, ['owner', 'approver']);
      const { audit, clock, standing, settings } = await openFlow();
      const change = auditedChanges({ area: 'approvals.standing', audit, clock });
      await change(by, { action: 'revoke', detail: { standing: cutAndEscapeBreaks(id, 80) } }, async () => {
        if (ID.test(id) && (await isListed(standing, by, id)) && (await standing.revoke(id))) return;
        throw unknownStanding(
          id,
          configuredStanding(settings().approvals.standing).some((one) => one.id === id && isInProfileOf(by, one)),
        );
      });
    },
  };
}

/** Returns true if an approval is pending and the reader cannot approve it now. */
function isUndecidable(by: Caller, approval: StoredApproval, now: number): boolean {
  if (approval.status !== 'pending') return false;
  const { refusal } = nextApproval(approval, { kind: 'decide', by, verdict: 'approve', via: by.via }, { now });
  return refusal === 'not-approver' || refusal === 'counted';
}

const readsAll = ({ roles }: Caller): boolean => roles.some((role) => APPROVAL_READERS.includes(role));

/** Returns the filter for a status. A caller without a reading role gets its own approvals. */
const filterFor = (by: Caller, status: unknown): ApprovalFilter => ({
  statuses: statusesOf(status),
  ...(!readsAll(by) && { principal: vaultPrincipal(by) }),
});

const mayRead = (by: Caller, approval: StoredApproval): boolean =>
  isInProfileOf(by, approval) && (readsAll(by) || vaultPrincipal(by) === approval.principal);

/** Returns true if a caller has no profile, or has that of an approval or standing approval. */
const isInProfileOf = (by: Caller, { profile }: Pick<StoredStanding, 'id' | 'profile'>): boolean =>
  by.profile === undefined || by.profile === profile;

/** Lists approvals. For a caller with a profile it searches the newest 10,000: the store has no index of profiles. */
async function listFor(
  by: Caller,
  { box }: ApprovalFlow,
  query: ApprovalFilter & { readonly limit: number },
): Promise<readonly StoredApproval[]> {
  if (by.profile === undefined) return box.list(query);
  const newest = await box.list({ ...query, limit: MAX_LIMIT });
  return newest.filter((one) => isInProfileOf(by, one)).slice(0, query.limit);
}

const isListed = async (standing: StandingBook, by: Caller, id: string): Promise<boolean> =>
  by.profile === undefined || (await standing.all()).some((one) => one.id === id && isInProfileOf(by, one));

/** Leaves out the fields that only the store needs. */
function toPublic(stored: StoredApproval): Approval {
  const { binding: _, principal: __, session: ___, version: ____, runner: _____, ...approval } = stored;
  return approval;
}

function statusesOf(status: unknown): readonly ApprovalStatus[] {
  if (status === 'all') return STATUSES;
  const found = STATUSES.find((one) => one === status);
  if (found) return [found];
  throw new HeddleError('USAGE_INVALID', `${cutAndEscapeBreaks(String(status), 80)} is no status of an approval.`, {
    fix: `Use one of ${STATUSES.join(', ')}, all.`,
  });
}

function limitOf(limit: number): number {
  if (Number.isInteger(limit) && limit > 0) return Math.min(limit, MAX_LIMIT);
  throw new HeddleError('USAGE_INVALID', 'The limit has to be a positive whole number.', {
    fix: 'Pass another limit.',
  });
}

const ambiguous = (id: string, found: readonly StoredApproval[]) =>
  new HeddleError('NAME_AMBIGUOUS', `${id} is the beginning of ${found.length} ids.`, {
    fix: `Write one of ${found.map((one) => one.id).join(', ')}.`,
  });

const unknownStanding = (id: string, isConfigured: boolean) =>
  new HeddleError('NAME_UNKNOWN', `There is no stored standing approval ${cutAndEscapeBreaks(id, 80)}.`, {
    fix: isConfigured
      ? 'It is in the configuration: remove it from `approvals.standing`.'
      : 'Run `heddle approvals standing list` to see all.',
  });
