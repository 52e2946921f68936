import type { AuditVerification } from '../../core/records/audit-entry.ts';
import type { Finding } from '../../core/records/finding.ts';
import type { AuditLog } from '../audit-log.ts';

/** Verifies the hash chains of the audit log. */
export async function examineAudit(audit: Pick<AuditLog, 'verify'>, signal: AbortSignal): Promise<Finding> {
  return findingOf(await audit.verify({ signal }));
}

function findingOf({ records, segments, faults, faultCount }: AuditVerification): Finding {
  const subject = 'audit';
  const [first] = faults;
  if (!first) return { level: 'ok', subject, message: `${records} records in ${segments} chains, all intact` };
  const more = faultCount === 1 ? '' : ` ${faultCount - 1} more faults were found.`;
  return {
    level: 'error',
    subject,
    message: `Record ${first.sequence} of segment ${first.segment}: ${first.message}${more}`,
    fix: 'The log was changed after it was written: run `heddle audit verify`, and compare it with a backup.',
  };
}
