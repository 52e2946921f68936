import type { AuditLog } from '../../store/audit-log.ts';

const EVERY_MS = 60_000;

/**
 * Writes a checkpoint of the audit log every minute with new records. The returned function ends that with a last one.
 * A failed write is left to the next minute: calls with side effects are refused meanwhile anyway.
 */
export function followCheckpoints(audit: Pick<AuditLog, 'checkpoint'>, everyMs = EVERY_MS): () => Promise<void> {
  let writing: Promise<unknown> | undefined;
  const write = () => {
    writing ??= audit
      .checkpoint()
      .catch(() => {})
      .finally(() => {
        writing = undefined;
      });
    return writing;
  };
  const timer = setInterval(write, everyMs).unref();
  return async () => {
    clearInterval(timer);
    await writing;
    await write();
  };
}
