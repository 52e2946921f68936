import colors from 'picocolors';
import type { AuditEntry } from '../../core/records/audit-entry.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { indentedJson } from '../print/escape-control.ts';
import { type PrintedColumn, printColumns } from '../print/print-columns.ts';

const timeOf = ({ at }: AuditEntry) => new Date(at).toISOString();
const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

const COLUMNS: readonly PrintedColumn<AuditEntry>[] = [
  { title: 'TIME', of: timeOf },
  { title: 'CALLER', of: ({ caller }) => caller },
  { title: 'VIA', of: ({ via }) => via },
  { title: 'PHASE', of: ({ phase }) => phase },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'RESULT', of: ({ detail }) => textOf(detail.outcome) || textOf(detail.decision), optional: true },
  { title: 'CALL', of: ({ callId }) => callId },
];

/** Prints one row per record. */
export const printRecords = (records: readonly AuditEntry[]): void => printColumns(COLUMNS, records);

/** Prints a record in full. */
export function printRecord(record: AuditEntry): void {
  const { phase, caller, via, name, detail, segment, sequence, hash } = record;
  const head = [timeOf(record), phase, caller, via, name].map(oneLine).join('  ');
  process.stdout.write(
    `${colors.bold(oneLine(head))}\n${indentedJson(detail, process.stdout)}\n${oneLine(`${segment} ${sequence} ${hash}`)}\n`,
  );
}
