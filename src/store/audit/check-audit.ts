import type { Finding } from '../../core/records/finding.ts';
import type { AuditLog } from '../audit-log.ts';

/** Verifies the hash chains of the audit log. */
export async function examineAudit(audit: Pick<AuditLog, 'verify'>, signal: AbortSignal): Promise<Finding> {
  const { records, segments, broken } = await audit.verify(signal);
  const subject = 'audit';
  const [first] = broken;
  if (!first) return { level: 'ok', subject, message: `${records} records in ${segments} chains, all intact` };
  const message = `${broken.length} records do not follow from the one before; the first is number ${first.sequence} of ${first.segment}`;
  return {
    level: 'error',
    subject,
    message,
    fix: 'The log was changed after it was written: compare it with a backup.',
  };
}
