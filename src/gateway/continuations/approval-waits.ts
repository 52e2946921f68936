import { BoundedMap } from '../../core/bounded-map.ts';
import { type PendingApproval, UNATTENDED_MS } from '../../core/call/approval.ts';
import { approvalPending } from '../../core/call/approval-pending.ts';
import { PROGRESS_STEP, reportWaiting } from '../../core/call/report-waiting.ts';
import type { Call, Progress, Result } from '../../core/call.ts';
import { type Clock, realTimer, steadyClock, type Timer } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';

type WaitingResult = Extract<Result, { readonly kind: 'waiting' }>;

/** The calls whose requests stay open while approvers decide. */
export interface ApprovalWaits {
  /**
   * Waits for a decision. Throws APPROVAL_PENDING when `keepOpenMs` of this call are over, after 5 s if no approver is
   * present, or when the gateway closes.
   */
  settled(approval: PendingApproval, signal: AbortSignal, call: Call): Promise<void>;
  /** Waits for a decision and dispatches the call again, until it no longer waits. */
  goOn(waiting: WaitingResult, call: Call): Promise<Exclude<Result, WaitingResult>>;
  /** Withdraws the form of an approval once another approver has decided. Returns other results as they are. */
  withdrawable(result: Result, call: Call): Result;
  /** Answers all waiting calls with APPROVAL_PENDING, and later ones at once. */
  close(): void;
}

export interface ApprovalWaitsOptions {
  readonly timer?: Timer | undefined;
  readonly clock?: Clock;
}

const MAX_WAITS = 10_000;

export function approvalWaits(
  heddle: Pick<Heddle, 'dispatch' | 'approvals' | 'access'>,
  { timer = realTimer, clock = steadyClock }: ApprovalWaitsOptions = {},
): ApprovalWaits {
  const closing = new AbortController();
  const deadlines = new BoundedMap<string, number>(MAX_WAITS);

  function leftMs({ id }: Call): number {
    const { keepOpenMs } = heddle.access.settings().approvals;
    const deadline = deadlines.get(id) ?? clock() + keepOpenMs;
    deadlines.set(id, deadline);
    return deadline - clock();
  }

  async function settled(approval: PendingApproval, signal: AbortSignal, call: Call): Promise<void> {
    const left = leftMs(call);
    const over = Promise.withResolvers<never>();
    const end = () => over.reject(approvalPending(call, approval));
    const endUnattended = async () => {
      const openMs = await heddle.approvals.keepOpenMs(approval.id).catch(() => Number.POSITIVE_INFINITY);
      if (openMs <= UNATTENDED_MS) end();
    };
    const done = new AbortController();
    const cancels = [
      timer(Math.max(left, 0), end),
      timer(UNATTENDED_MS, () => void endUnattended()),
      reportWaiting(call, approval, timer),
    ];
    closing.signal.addEventListener('abort', end, { once: true });
    if (closing.signal.aborted || left <= 0) end();
    const decided = heddle.approvals.settled(call.caller, approval.id, AbortSignal.any([signal, done.signal]));
    try {
      await Promise.race([over.promise, decided]);
    } catch (thrown) {
      deadlines.delete(call.id);
      throw thrown;
    } finally {
      done.abort();
      closing.signal.removeEventListener('abort', end);
      for (const cancel of cancels) cancel();
    }
  }

  return {
    settled,
    async goOn(waiting, call) {
      // A response counts once. Those of a first call must not decide; the approval keeps them for the server.
      const { inputResponses: _, ...rest } = call;
      const again: Call = rest.onProgress ? { ...rest, onProgress: increasing(rest.onProgress) } : rest;
      for (let result: Result = waiting; ; ) {
        if (result.kind !== 'waiting') return result;
        await settled(result.approval, again.signal, again);
        result = await heddle.dispatch({ ...again, continuation: result.continuation });
      }
    },
    withdrawable(result, call) {
      if (result.kind !== 'input-required' || result.continuation.kind !== 'approval') return result;
      const { id } = result.continuation;
      if (closing.signal.aborted) throw approvalPending(call, result.approval ?? unnamed(id));
      const withdrawn = new AbortController();
      const signal = AbortSignal.any([call.signal, closing.signal]);
      // If the wait itself fails, the form stays as it is.
      heddle.approvals.settled(call.caller, id, signal).then(
        () => withdrawn.abort(),
        () => {},
      );
      return { ...result, withdrawn: AbortSignal.any([withdrawn.signal, closing.signal]) };
    },
    close: () => closing.abort(),
  };
}

const unnamed = (id: string): PendingApproval => ({ id, approvers: ['an approver'], expiresAt: 0, reason: '' });

/**
 * Keeps progress increasing: a server restarts at 0 when the call continues. A number that is not greater than before is
 * dropped; with the message of a wait it is replaced by the next greater one.
 */
export function increasing(report: (progress: Progress) => void): (progress: Progress) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (notification) => {
    if (typeof notification.progress !== 'number') return report(notification);
    const isGreater = notification.progress > last;
    if (!isGreater && !isWait(notification)) return;
    last = isGreater ? notification.progress : last + PROGRESS_STEP;
    report({ ...notification, progress: last });
  };
}

// Only the wait for an approver reports a message with such small numbers.
const isWait = ({ progress, message }: Progress) => Number(progress) < 1000 * PROGRESS_STEP && message !== undefined;
