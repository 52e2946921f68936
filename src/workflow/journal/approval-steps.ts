import { HeddleError } from '../../core/errors.ts';
import type { RunError } from '../../core/records/run.ts';
import { type ApprovalEnd, RunInterrupted, type StepApprovalRequest } from '../run/durable.ts';
import type { RunContext } from './run-context.ts';
import { toRunError } from './step-end.ts';
import { settledApproval } from './wait-for-person.ts';

/** An approval step of a run. */
export interface WaitingStep {
  readonly path: string;
  readonly request: StepApprovalRequest;
  readonly signal: AbortSignal;
}

/** Waits for the decision about an approval step, or returns the recorded one. */
export async function approveOnce(context: RunContext, step: WaitingStep): Promise<ApprovalEnd> {
  const { parts, history, writer, activity, pauses, clock } = context;
  const { path, signal } = step;
  const recorded = history.approvals.get(path);
  if (recorded?.refused) throw refusal(recorded.refused);
  if (recorded?.end) return recorded.end;
  return activity.operate(async () => {
    if (signal.aborted && !recorded) return { kind: 'cancelled' };
    const approval = recorded?.id ?? (await requested(context, step));
    const settled = await settledApproval(context, approval, signal);
    if (!settled) await parts.approvals.withdraw(approval);
    const end: ApprovalEnd = settled ?? { kind: 'cancelled' };
    const at = 'at' in end ? end.at : clock();
    writer.add('decided', path, { approval, at, end });
    pauses.close(path, at);
    return end;
  });
}

/** Requests the approval. A refusal is recorded, so that a later execution goes the same way. */
async function requested(context: RunContext, { path, request }: WaitingStep): Promise<string> {
  const { run, caller, parts, writer, activity, pauses, clock } = context;
  try {
    const approval = await parts.approvals.request({ run, path, request, caller });
    writer.add('waiting', path, { approval });
    writer.flush();
    pauses.open(path, clock());
    return approval;
  } catch (thrown) {
    if (activity.isInterrupted) throw new RunInterrupted();
    writer.add('decided', path, { at: clock(), refused: toRunError(HeddleError.from(thrown)) });
    throw thrown;
  }
}

const refusal = ({ code, message, fix = '', details = {} }: RunError): HeddleError =>
  new HeddleError(code as HeddleError['code'], message, { fix, details });
