import type { AuditFault, AuditVerification } from '../../core/records/audit-entry.ts';
import type { Finding } from '../../core/records/finding.ts';
import type { AuditLog } from '../audit-log.ts';

/** Verifies the hash chains of the audit log. */
export async function examineAudit(audit: Pick<AuditLog, 'verify'>, signal: AbortSignal): Promise<Finding> {
  return findingOf(await audit.verify({ signal }));
}

function findingOf({ faults, faultCount, message }: AuditVerification): Finding {
  const subject = 'audit';
  const [first] = faults;
  if (!first) return { level: 'ok', subject, message };
  const more = faultCount === 1 ? '' : ` ${faultCount - 1} more faults were found.`;
  return {
    level: 'error',
    subject,
    message: `${message} ${placeOf(first)}${first.message}${more}`,
    fix: 'Run `heddle audit verify` for all faults, and compare the log with a backup.',
  };
}

const placeOf = ({ kind, segment, sequence }: AuditFault): string =>
  kind === 'emptied' ? '' : `Record ${sequence} of segment ${segment}: `;
