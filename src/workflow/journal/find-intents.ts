import { HeddleError } from '../../core/errors.ts';
import type { AuditLog } from '../../store/audit-log.ts';
import type { BegunCall } from './history.ts';

/** The decisions of opening records whose calls were permitted. Refused and asked attempts have records, too. */
const PERMITTED: readonly unknown[] = ['allow', 'approved', 'self-approved', 'standing-approved'];
/** The clock of another process may differ a little. */
const EARLIER_MS = 60_000;

/** Returns true if the call may have been sent to a server. */
export type WasSent = (call: Pick<BegunCall, 'callId'>) => Promise<boolean>;

/**
 * Looks for the intents of calls in the audit log, from the start of the oldest one on. The log is read once for all of
 * them. If it cannot be read, or the records of that time were removed, every call may have been sent.
 */
export function findIntents(
  audit: Pick<AuditLog, 'read'>,
  calls: readonly Pick<BegunCall, 'callId' | 'at'>[],
  signal: AbortSignal,
): WasSent {
  const wanted = new Set(calls.map(({ callId }) => callId));
  const since = Math.min(...calls.map(({ at }) => at)) - EARLIER_MS;
  let found: Promise<ReadonlySet<string>> | undefined;

  async function search(): Promise<ReadonlySet<string>> {
    if (await wasPruned(audit, since, signal)) return wanted;
    const sent = new Set<string>();
    for await (const batch of audit.read(
      { phase: 'intent', via: 'workflow' },
      { order: 'written', from: since, signal },
    ))
      for (const { callId, detail } of batch)
        if (wanted.has(callId) && PERMITTED.includes(detail.decision) && detail.cancels !== true) sent.add(callId);
    return sent;
  }

  return async ({ callId }) => {
    found ??= search().catch((thrown) => {
      if (signal.aborted) throw HeddleError.from(thrown);
      return wanted;
    });
    return (await found).has(callId);
  };
}

/** Tests whether records since a time were removed: the oldest checkpoint names the time up to which they were. */
async function wasPruned(audit: Pick<AuditLog, 'read'>, since: number, signal: AbortSignal): Promise<boolean> {
  for await (const batch of audit.read({ phase: 'checkpoint', since }, { order: 'written', from: since, signal }))
    for (const { detail } of batch) {
      const { pruned } = detail as { readonly pruned?: { readonly before?: number } };
      if (typeof pruned?.before === 'number' && pruned.before > since) return true;
    }
  return false;
}
