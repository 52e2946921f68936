import { UNATTENDED_MS } from '../../core/call/approval.ts';
import { isNamedByProgram, requireRole } from '../../core/call/caller.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { ApprovalQuery, ApprovalStatus } from '../../core/records/approval.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import type { Clock } from '../../core/time.ts';
import { unknownApproval } from '../../govern/approvals/approval-errors.ts';
import type { ApprovalFlow } from '../../govern/approvals/approval-flow.ts';
import { checkVerdict } from '../../govern/approvals/check-verdict.ts';
import { isApprovalId, nextApproval } from '../../govern/approvals/next-approval.ts';
import { configuredStanding, unexpired } from '../../govern/approvals/standing.ts';
import { addStanding, requireStandingPossible } from '../../govern/approvals/standing-uses.ts';
import { requireFormContent } from '../../govern/approvals/steps/step-approval.ts';
import type { Approvals } from '../../heddle.ts';
import type { ApprovalFilter, StoredApproval } from '../../store/approval-box.ts';
import type { StandingBook } from '../../store/approvals/standing-book.ts';
import { auditedChanges } from '../audited-change.ts';
import { APPROVAL_READERS } from '../change-publishers.ts';
import type { ApprovalObserver } from '../hooks-of.ts';
import { approvalPage, collectPages, countListed, isInProfileOf, toPublic } from './approval-pages.ts';
import { attendance } from './attendance.ts';

const STATUSES = ['pending', 'approved', 'rejected', 'timeout', 'expired', 'used', 'void'] as const;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 10_000;
const ID = /^(ap|st)_[a-z0-9]{0,16}$/;

/**
 * Returns the approvals of the flow. Owners, approvers and auditors see all; a requester sees its own. A caller with a
 * profile sees those of its profile alone.
 */
export function approvalApi(
  openFlow: () => Promise<ApprovalFlow>,
  { hasHooks = () => false }: Partial<Pick<ApprovalObserver, 'hasHooks'>> = {},
  steadyClock?: Clock,
): Omit<Approvals, 'findings'> {
  const readers = attendance(steadyClock);

  async function find(by: Caller, id: string): Promise<{ flow: ApprovalFlow; found: StoredApproval }> {
    const flow = await openFlow();
    const candidates = ID.test(id) ? (await flow.box.find(id)).filter((one) => mayRead(by, one)) : [];
    const [found, other] = candidates;
    if (!found) throw unknownApproval(id);
    if (other) throw ambiguous(id, candidates);
    return { flow, found };
  }

  async function page(by: Caller, { status = 'pending', limit = DEFAULT_LIMIT, cursor }: ApprovalQuery = {}) {
    const filter = filterFor(by, status);
    const most = limitOf(limit);
    readers.note(by);
    const flow = await openFlow();
    await flow.sweepPage();
    const now = flow.clock();
    const from = { box: flow.box, by, filter: { ...filter, ...(status !== 'all' && { now }) } };
    return approvalPage(from, { limit: most, cursor, now });
  }

  return {
    page,
    list: async (by, query = {}) =>
      collectPages((part) => page(by, { ...query, ...part }), limitOf(query.limit ?? DEFAULT_LIMIT)),
    async count(by, { status = 'pending' } = {}) {
      const { box, clock } = await openFlow();
      const filter = { ...filterFor(by, status), ...(status !== 'all' && { now: clock() }) };
      return countListed({ box, by, filter });
    },
    async get(by, id) {
      const { flow, found } = await find(by, id);
      readers.note(by);
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
    async keepOpenMs(id) {
      const flow = await openFlow();
      const { keepOpenMs, webhook } = flow.settings().approvals;
      if (webhook || hasHooks() || keepOpenMs <= UNATTENDED_MS) return keepOpenMs;
      const approval = await flow.box.get(id);
      return approval && readers.some((by) => isPresentFor(by, approval, flow.clock())) ? keepOpenMs : UNATTENDED_MS;
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

/** Returns true if an approval is pending and the reader cannot approve it now. A program also decides in the names of its approvers. */
function isUndecidable(by: Caller, approval: StoredApproval, now: number): boolean {
  if (approval.status !== 'pending') return false;
  const named =
    by.via === 'library' ? approval.stages.flatMap(({ approvers }) => approvers.filter(isNamedByProgram)) : [];
  const deciders = [by, ...named.map((id): Caller => ({ id, roles: [], via: 'library' }))];
  return deciders.every((one) => {
    const event = { kind: 'decide', by: one, verdict: 'approve', via: by.via } as const;
    const { refusal } = nextApproval(approval, event, { now });
    return refusal === 'not-approver' || refusal === 'counted';
  });
}

/** Returns true if a reader other than the requester may approve an approval now. */
const isPresentFor = (by: Caller, approval: StoredApproval, now: number): boolean =>
  vaultPrincipal(by) !== approval.principal && isInProfileOf(by, approval) && !isUndecidable(by, approval, now);

/** Returns true for roles that read all approvals, and for approvers that the embedding program names. */
const readsAll = ({ roles, via }: Caller): boolean =>
  via === 'library' || roles.some((role) => APPROVAL_READERS.includes(role));

/** Returns the filter for a status. A caller without a reading role gets its own approvals. */
const filterFor = (by: Caller, status: unknown): ApprovalFilter => ({
  statuses: statusesOf(status),
  ...(!readsAll(by) && { principal: vaultPrincipal(by) }),
});

const mayRead = (by: Caller, approval: StoredApproval): boolean =>
  isInProfileOf(by, approval) && (readsAll(by) || vaultPrincipal(by) === approval.principal);

const isListed = async (standing: StandingBook, by: Caller, id: string): Promise<boolean> =>
  by.profile === undefined || (await standing.all()).some((one) => one.id === id && isInProfileOf(by, one));

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
