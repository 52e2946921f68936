import { nameFor } from '../core/call/name-for.ts';
import { isTaskCancel } from '../core/call/task.ts';
import type { DecidedCall, Decision, ResolvedCall, ServerContinuation } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import type { Clock } from '../core/time.ts';
import type { AuditLog } from '../store/audit-log.ts';
import type { Decide } from './decide.ts';
import { openingRecord } from './opening-record.ts';
import { isByMode } from './policy/mode-rules.ts';
import type { Taints } from './policy/taints.ts';

/** The step from a resolved to a decided call. Throws PERMISSION_DENIED. */
export type Permit = (call: ResolvedCall) => DecidedCall;

export interface PermitOptions {
  readonly decide: Decide;
  readonly log: Pick<AuditLog, 'append'>;
  readonly clock?: Clock;
  /** The labels of sessions; without them, rules on `taint` see none. */
  readonly taints?: Taints | undefined;
}

/**
 * Decides on each call, once. Refuses a call that a rule denies, and records refused and asked attempts; `approve`
 * holds back a call that needs an approval.
 */
export function permit({ decide, log, clock = Date.now, taints }: PermitOptions): Permit {
  const decideWith = withTaint(decide, taints);

  return function permit(call) {
    const decision = withHooks(call, decideWith(call));
    const decided = { ...call, decision };
    // A caller that may no longer call a tool may still cancel its own task.
    if (decision.effect === 'allow' || isTaskCancel(call)) return decided;
    // The first attempt was recorded; a poll of its approval or task changes nothing. `recordIntent` records what runs.
    const isFirstAttempt = call.continuation === undefined && !(isSelfApproved(call) && isApprover(call));
    if (decision.effect === 'deny' || isFirstAttempt) log.append(openingRecord(decided, clock())());
    if (decision.effect === 'deny') throw denied(call, decision);
    return decided;
  };
}

const isApprover = ({ caller }: ResolvedCall) => caller.roles.some((role) => role === 'owner' || role === 'approver');

/**
 * Returns true if the caller at the CLI approved its own call. The plan of the approval decides whether that counts: it
 * does for owners and API keys of approvers, unless a rule excludes the requester.
 */
export const isSelfApproved = ({ approved, caller }: ResolvedCall) => approved === 'self' && caller.via === 'cli';

/** Decides on a call. A continuation of a task has no arguments, so only static rules apply. */
const withTaint =
  (decide: Decide, taints: Taints | undefined) =>
  (call: ResolvedCall): Decision => {
    const { caller, target, continuation } = call;
    if (continuation?.kind === 'task') return asBegun(decide(caller, target), continuation);
    if (!taints?.isTracked()) return decide(caller, target, call);
    const taint = taints.labelsOf(caller);
    return { ...decide(caller, target, { ...call, taint }), taint };
  };

/**
 * The mode asks about a task without proof of an approval: then a rule on arguments allowed its call, and the result would
 * be lost. A rule that asks is newer than the call, and counts.
 */
function asBegun(decision: Decision, { approved }: Pick<ServerContinuation, 'approved'>): Decision {
  if (decision.effect !== 'ask' || approved || !isByMode(decision)) return decision;
  return { ...decision, effect: 'allow', reason: 'The call was allowed when it began.' };
}

/** Adds the wish of a hook for an approval. It turns an allowed call into one that asks. */
function withHooks({ hooked }: ResolvedCall, decision: Decision): Decision {
  if (hooked?.asks === undefined || decision.effect !== 'allow') return decision;
  return { ...decision, effect: 'ask', rule: 'hooks.beforeCall', reason: hooked.asks };
}

const denied = (call: ResolvedCall, { rule, reason }: Decision) =>
  new HeddleError(
    'PERMISSION_DENIED',
    `${nameFor(call)} may not be ${call.kind === 'tool' || call.kind === 'extension' ? 'called' : 'read'}. ${reason}`,
    {
      fix: `The rule is ${rule}; the operator who maintains it can change it.`,
      details: { rule },
    },
  );
