import type { PendingApproval } from '../../core/call/approval.ts';
import { stageProgress } from '../../govern/approvals/stage-progress.ts';
import type { OpenApprovalFlow } from '../../govern/approve.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { WORKFLOW_PREFIX } from '../../workflow/definition/find-cycle.ts';
import type { ApprovalEnd } from '../../workflow/run/durable.ts';
import type { RunApprovals } from '../../workflow/run/run-parts.ts';

const NOT_NEEDED = 'Its run needs no decision any more.';

/** Returns the approvals that runs wait for. Approvers decide on them like on those of calls. */
export function runApprovals(openFlow: OpenApprovalFlow): RunApprovals {
  return {
    async request({ run, path, request, caller }) {
      const [flow, { requestStepApproval }] = await Promise.all([
        openFlow(),
        import('../../govern/approvals/steps/step-approval.ts'),
      ]);
      const named = { name: WORKFLOW_PREFIX + run.workflow, digest: run.digest };
      return requestStepApproval(flow, { run: run.id, path, caller, ...named, ...request });
    },
    async state(id) {
      const { approval } = await (await openFlow()).apply(id, { kind: 'time' });
      if (approval.status === 'pending') return { kind: 'pending', expiresAt: approval.expiresAt };
      return { kind: 'settled', end: endOf(approval) };
    },
    async withdraw(id) {
      await (await openFlow()).apply(id, { kind: 'void', reason: NOT_NEEDED });
    },
  };
}

/** Returns an approval that a run waits for, if it is pending. */
export async function pendingApproval(openFlow: OpenApprovalFlow, id: string): Promise<PendingApproval | undefined> {
  const { approval } = await (await openFlow()).apply(id, { kind: 'time' });
  const { status, stages, expiresAt, reason = '' } = approval;
  if (status !== 'pending') return undefined;
  return { id, approvers: stages[stageProgress(approval).stage]?.approvers ?? [], expiresAt, reason };
}

/** Returns the end of an approval. One that was approved stays so, however late its run goes on. */
function endOf({
  status,
  decisions,
  settledAt,
  expiresAt,
}: StoredApproval): Exclude<ApprovalEnd, { readonly kind: 'cancelled' }> {
  const last = decisions.at(-1);
  const at = last?.at ?? settledAt ?? expiresAt;
  const note = last?.note === undefined ? {} : { note: last.note };
  const by = (verdict: 'approve' | 'reject') => decisions.flatMap((one) => (one.verdict === verdict ? one.by : []));
  if (status === 'rejected') return { kind: 'rejected', by: by('reject'), ...note, at };
  if (status === 'timeout' || status === 'void') return { kind: 'expired', at };
  const content = Object.assign({}, ...decisions.map((one) => one.content));
  return { kind: 'approved', by: by('approve'), ...note, ...(Object.keys(content).length > 0 && { content }), at };
}
