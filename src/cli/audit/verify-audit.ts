import { parseHead } from '../../core/audit-head.ts';
import { HeddleError } from '../../core/errors.ts';
import type { AuditHead, AuditVerification } from '../../core/records/audit-entry.ts';
import { counted, isOrAre } from '../../core/text/counted.ts';
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

function printVerification({ from, faults, faultCount, message }: AuditVerification): void {
  for (const fault of faults) print(`${fault.kind}  ${fault.segment} ${fault.sequence}  ${fault.message}`);
  const more = faultCount - faults.length;
  if (more > 0) notice(`${counted(more, 'more fault')} ${isOrAre(more)} not shown.`);
  if (from) notice(`Older records were pruned: the verification starts at record ${from.sequence} of ${from.segment}.`);
  if (faultCount === 0) print(message);
  else notice(message);
}

function readHead(text: string | undefined): AuditHead | undefined {
  if (text === undefined) return undefined;
  const head = parseHead(text);
  if (head) return head;
  throw new HeddleError('USAGE_INVALID', '--head has to be a line of `heddle audit head`: segment, sequence, hash.');
}
