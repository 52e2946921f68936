import type { Target } from '../../core/call.ts';
import type { Approval, ApprovalSubject } from '../../core/records/approval.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { sanitisedSubject } from '../approvals/next-approval.ts';
import { matchesTools } from '../policy/match.ts';
import { type Configured, type Hook, hooksFor } from './hook.ts';
import { type HookFailure, runHook } from './run-hook.ts';

// A function has no timeout of its own, and closing waits for it.
const LONGEST_MS = 60_000;

/** Runs the hooks `onApproval` about a changed approval, one after the other. A failure is recorded, and changes nothing. */
export async function observeApproval(
  configured: Configured,
  stored: StoredApproval,
  ended: AbortSignal,
): Promise<void> {
  const approval = toObserved(stored);
  const target = toTarget(stored.subject);
  for (const hook of hooksFor(configured, 'onApproval', (tools) => matchesTools(tools, target))) {
    if (ended.aborted) return;
    const signal = AbortSignal.any([AbortSignal.timeout(LONGEST_MS), ended]);
    const { parts } = configured;
    const output = await runHook(hook, { event: 'onApproval', approval }, { parts, signal }).catch(() => TOO_LATE);
    if ('failure' in output) recordFailure(configured, { hook, approval: stored, output });
  }
}

const TOO_LATE = { failure: `did not end within ${LONGEST_MS} ms` };

/** Removes the fields that only the store needs, and everything exact about the arguments: observers often print them. */
function toObserved({ binding: _, principal: __, session: ___, version: ____, ...approval }: StoredApproval): Approval {
  const { inputDigest: _____, ...subject } = sanitisedSubject(approval.subject);
  return { ...approval, subject };
}

/** Returns the names of an approval's subject as a target, to match `tools`. */
const toTarget = ({ kind, name, servers }: ApprovalSubject) =>
  ({ kind, publicName: name, name, servers }) as unknown as Target;

function recordFailure(
  { parts: { audit, clock } }: Configured,
  { hook, approval, output }: { readonly hook: Hook; readonly approval: StoredApproval; readonly output: HookFailure },
): void {
  const { failure: reason, stderr } = output;
  const { id, subject, requestedBy, via } = approval;
  audit.append({
    callId: id,
    phase: 'hook',
    at: clock(),
    caller: requestedBy,
    via,
    name: subject.name,
    detail: { event: 'onApproval', hook: hook.name, effect: 'failed', reason, ...(stderr !== undefined && { stderr }) },
  });
}
