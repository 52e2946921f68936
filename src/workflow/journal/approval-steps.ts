import type { ApprovalAsk, ApprovalEnd } from '../run/durable.ts';
import type { RunContext } from './run-context.ts';
import { settledApproval } from './wait-for-person.ts';

/** Returns the operation of approval steps. */
export function approvalSteps(context: RunContext) {
  const { run, caller, parts, history, writer, activity, pauses, clock } = context;

  /** Requests the approval, unless an earlier execution did. */
  async function requested(path: string, ask: ApprovalAsk): Promise<string> {
    const found = history.approvals.get(path)?.id;
    if (found !== undefined) return found;
    const approval = await parts.approvals.request({ run, path, ask, caller });
    writer.add('waiting', path, { approval });
    writer.flush();
    pauses.open(path, clock());
    return approval;
  }

  return async function approve(path: string, ask: ApprovalAsk, signal: AbortSignal): Promise<ApprovalEnd> {
    const recorded = history.approvals.get(path)?.end;
    if (recorded) return recorded;
    return activity.operate(async () => {
      if (signal.aborted && !history.approvals.has(path)) return { kind: 'cancelled' };
      const approval = await requested(path, ask);
      const settled = await settledApproval(context, approval, signal);
      if (!settled) await parts.approvals.withdraw(approval);
      const end: ApprovalEnd = settled ?? { kind: 'cancelled' };
      const at = 'at' in end ? end.at : clock();
      writer.add('decided', path, { approval, at, end });
      pauses.close(path, at);
      return end;
    });
  };
}
