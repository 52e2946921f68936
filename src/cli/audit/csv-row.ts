import type { AuditEntry } from '../../core/records/audit-entry.ts';
import { oneLine } from '../../core/text/visible-text.ts';

const COLUMNS = ['time', 'segment', 'sequence', 'hash', 'link', 'callId', 'phase', 'caller', 'via', 'name', 'detail'];

/** A spreadsheet evaluates a cell that begins with one of these characters, also in their full width. */
const FORMULA = /^\s*[=+\-@|%＝＋－＠]/u;

/** The first row of a CSV export. */
export const csvHead = (): string => COLUMNS.join(',');

/** Formats a record as CSV. Line breaks and invisible characters are escaped, and no cell is a formula. */
export function csvRow(entry: AuditEntry): string {
  const { at, segment, sequence, hash, link = '', callId, phase, caller, via, name, detail } = entry;
  const cells = [new Date(at).toISOString(), segment, String(sequence), hash, link, callId, phase, caller, via, name];
  return [...cells, JSON.stringify(detail)].map(csvCell).join(',');
}

/** Quotes a cell. A leading apostrophe makes a spreadsheet take it as text. */
export function csvCell(text: string): string {
  const shown = oneLine(text);
  return `"${(FORMULA.test(shown) ? `'${shown}` : shown).replaceAll('"', '""')}"`;
}
