import colors from 'picocolors';
import type { AuditEntry } from '../../core/records/audit-entry.ts';
import { previewJson } from '../../core/text/preview-json.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { indentedJson } from '../print/escape-control.ts';
import { type PrintedColumn, printColumns } from '../print/print-columns.ts';
import type { AuditedCall } from './audited-calls.ts';

const timeOf = ({ at }: AuditEntry) => new Date(at).toISOString();
const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

function resultOf({ detail }: AuditEntry): string {
  return textOf(detail.outcome) || textOf(detail.decision);
}

const COLUMNS: readonly PrintedColumn<AuditEntry>[] = [
  { title: 'TIME', of: timeOf },
  { title: 'CALLER', of: ({ caller }) => caller },
  { title: 'VIA', of: ({ via }) => via },
  { title: 'PHASE', of: ({ phase }) => phase },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'RESULT', of: resultOf, optional: true },
  { title: 'CALL', of: ({ callId }) => callId },
];

const ARGUMENT_CHARS = 60;

const CALL_COLUMNS: readonly PrintedColumn<AuditedCall>[] = [
  { title: 'TIME', of: ({ newest }) => timeOf(newest) },
  { title: 'CALLER', of: ({ newest }) => newest.caller },
  { title: 'VIA', of: ({ newest }) => newest.via },
  { title: 'NAME', of: ({ newest, opening }) => (opening ?? newest).name },
  { title: 'RESULT', of: ({ newest, outcome }) => resultOf(outcome ?? newest), optional: true },
  { title: 'ARGUMENTS', of: argumentsOf, optional: true },
  { title: 'CALL', of: ({ newest }) => newest.callId },
];

function argumentsOf({ opening }: AuditedCall): string {
  const given = opening?.detail.arguments;
  return given === undefined ? '' : previewJson(given, ARGUMENT_CHARS);
}

/** Prints one row per call, with the start of its arguments. */
export const printCalls = (calls: readonly AuditedCall[]): void => printColumns(CALL_COLUMNS, calls);

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
