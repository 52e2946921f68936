import type { AuditVerification } from '../../core/records/audit-entry.ts';
import { counted } from '../../core/text/counted.ts';

const END_UNKNOWN =
  'Removed newest records cannot be seen without a head: keep one with `heddle audit head`, and pass it to `heddle audit verify --head`.';
const END_CHECKED = 'No record up to the kept head is missing.';

/** Adds the result in words. `heddle audit verify`, its JSON and `heddle doctor` have the same ones. */
export function describeVerification(found: Omit<AuditVerification, 'message'>): AuditVerification {
  const { records, segments, checkpoints, faultCount, end } = found;
  const what =
    records === 0
      ? 'The log is empty'
      : `${counted(records, 'record')} in ${counted(segments, 'segment')} with ${counted(checkpoints, 'checkpoint')}`;
  if (faultCount > 0) {
    return {
      ...found,
      message: `${what}: ${counted(faultCount, 'fault')}. The log was changed: compare it with a backup.`,
    };
  }
  const intact = records === 0 ? `${what}.` : `${what}: all intact.`;
  return { ...found, message: `${intact} ${end === 'checked' ? END_CHECKED : END_UNKNOWN}` };
}
