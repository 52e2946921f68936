import { parseKeys } from '../../core/escaped-keys.ts';
import type { AuditSearch } from '../../core/records/audit-entry.ts';
import { type SqlStatement, type SqlValue, sql } from '../statements.ts';
import type { AuditRow } from '../tables.ts';

/** Returns the conditions that the database checks, each with `AND` before it. */
export function conditionsOf(query: AuditSearch): SqlStatement {
  const { since, until, callId, caller, name, phase, via } = query;
  const all: readonly (SqlStatement | undefined)[] = [
    since === undefined ? undefined : sql` AND at >= ${since}`,
    until === undefined ? undefined : sql` AND at <= ${until}`,
    callId === undefined ? undefined : sql` AND call_id = ${callId}`,
    caller === undefined ? undefined : sql` AND caller = ${caller}`,
    name === undefined ? undefined : sql` AND name = ${name}`,
    phase === undefined ? undefined : sql` AND phase = ${phase}`,
    via === undefined ? undefined : sql` AND via = ${via}`,
  ];
  const used = all.filter((one) => one !== undefined);
  return { sql: used.map((one) => one.sql).join(''), values: used.flatMap((one): readonly SqlValue[] => one.values) };
}

/** Returns a function that checks the other conditions: text anywhere, and values in the detail. */
export function rowMatcher({ text, detail }: AuditSearch): (row: AuditRow) => boolean {
  const wanted = text?.toLowerCase();
  const escaped = wanted === undefined ? undefined : JSON.stringify(wanted).slice(1, -1);
  const paths = Object.entries(detail ?? {}).map(([path, value]) => ({ path: path.split('.'), value }));
  return (row) => {
    if (wanted !== undefined && escaped !== undefined && !hasText(row, wanted, escaped)) return false;
    if (paths.length === 0) return true;
    const parsed = parse(row.detail);
    return paths.every(({ path, value }) => isValue(valueAt(parsed, path), value));
  };
}

function hasText({ call_id, phase, caller, via, name, detail }: AuditRow, wanted: string, escaped: string): boolean {
  const lower = detail.toLowerCase();
  if (lower.includes(wanted) || lower.includes(escaped)) return true;
  return [call_id, phase, caller, via, name].some((column) => column.toLowerCase().includes(wanted));
}

function parse(text: string): unknown {
  try {
    return parseKeys(text);
  } catch {
    return undefined; // A damaged record matches no value.
  }
}

/** Returns the value at a path. A key may itself contain dots. */
function valueAt(value: unknown, path: readonly string[]): unknown {
  if (path.length === 0 || typeof value !== 'object' || value === null) return path.length === 0 ? value : undefined;
  for (let end = 1; end <= path.length; end += 1) {
    const key = path.slice(0, end).join('.');
    if (!Object.hasOwn(value, key)) continue;
    const found = valueAt((value as Record<string, unknown>)[key], path.slice(end));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Compares as text. A list has the value if one of its items is it. */
function isValue(found: unknown, value: string): boolean {
  if (found === undefined) return false;
  if (Array.isArray(found) && found.some((item) => isValue(item, value))) return true;
  return found === value || JSON.stringify(found) === value;
}
