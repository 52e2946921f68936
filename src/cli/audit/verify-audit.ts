import { parseHead } from '../../core/audit-head.ts';
import { HeddleError } from '../../core/errors.ts';
import type { AuditHead, AuditVerification } from '../../core/records/audit-entry.ts';
import type { AuditApi } from '../../heddle.ts';
import type { Input } from '../command.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';

/** Verifies the log, or an export. Exits with 1 if there is a fault. */
export async function verifyAudit(audit: AuditApi, words: readonly string[], input: Input): Promise<number> {
  const [file, ...more] = words;
  if (more.length > 0) throw new HeddleError('USAGE_INVALID', '`heddle audit verify` takes one file.');
  const head = readHead(input.text('head'));
  const found = await audit.verify(localCaller(), {
    ...(file !== undefined && { file }),
    ...(head && { head }),
    signal: untilInterrupted(),
  });
  if (input.flag('json')) printJson(found);
  else printVerification(found);
  return found.faultCount === 0 ? 0 : 1;
}

function printVerification({ records, segments, checkpoints, from, faults, faultCount }: AuditVerification): void {
  for (const { kind, segment, sequence, message } of faults) print(`${kind}  ${segment} ${sequence}  ${message}`);
  if (faultCount > faults.length) notice(`${faultCount - faults.length} more faults are not shown.`);
  if (from) notice(`Older records were pruned: the verification starts at record ${from.sequence} of ${from.segment}.`);
  const what = `${counted(records, 'record')} in ${counted(segments, 'segment')} with ${counted(checkpoints, 'checkpoint')}`;
  if (faultCount === 0) print(`${what}: all intact.`);
  else notice(`${what}: ${counted(faultCount, 'fault')}. The log was changed: compare it with a backup.`);
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

function readHead(text: string | undefined): AuditHead | undefined {
  if (text === undefined) return undefined;
  const head = parseHead(text);
  if (head) return head;
  throw new HeddleError('USAGE_INVALID', '--head has to be a line of `heddle audit head`: segment, sequence, hash.');
}
