import { formatHead, parseHead } from '../../core/audit-head.ts';
import { isObject } from '../../core/json.ts';
import type { AuditHead } from '../../core/records/audit-entry.ts';
import type { SealedRow } from '../tables.ts';

/** A statement of one record about another: its place and its hash. */
export interface ChainReference {
  readonly to: AuditHead;
  /** The record that has the statement; absent for a head that was kept elsewhere. */
  readonly from?: Pick<AuditHead, 'segment' | 'sequence'>;
}

/** The detail of a checkpoint. */
export interface CheckpointDetail {
  readonly previous: AuditHead | undefined;
  readonly heads: readonly AuditHead[];
  /** The last removed record of each segment that goes on, or that a remaining record refers to. */
  readonly pruned: readonly AuditHead[] | undefined;
  /** The time before which no record was exported. */
  readonly since: number | undefined;
  /** True if it was written for an export. */
  readonly isExport: boolean;
  /** True if records were left out of the export by other conditions. */
  readonly isFiltered: boolean;
}

/** Reads the detail of a checkpoint. Heads of a damaged one are left out; its own hash does not match either. */
export function readCheckpoint({ detail }: Pick<SealedRow, 'detail'>): CheckpointDetail {
  const found = parse(detail);
  const exported = isObject(found.export) ? found.export : {};
  const { since, ...others } = exported;
  return {
    previous: typeof found.previous === 'string' ? parseHead(found.previous) : undefined,
    heads: headsOf(found.heads),
    pruned: isObject(found.pruned) ? headsOf(found.pruned.heads) : undefined,
    since: typeof since === 'number' ? since : undefined,
    isExport: isObject(found.export),
    isFiltered: Object.keys(others).length > 0,
  };
}

/** Returns the references of a record: those of a checkpoint, and the link of the first record of a segment. */
export function referencesOf(row: SealedRow): readonly ChainReference[] {
  const from = { segment: row.segment, sequence: row.sequence };
  const { previous, heads } = row.phase === 'checkpoint' ? readCheckpoint(row) : { previous: undefined, heads: [] };
  const link = row.link === null || row.sequence !== 1 ? undefined : parseHead(row.link);
  return [link, previous, ...heads].flatMap((to) => (to ? [{ to, from }] : []));
}

/** Writes heads for the detail of a checkpoint. */
export const headLines = (heads: readonly AuditHead[]): readonly string[] => heads.map(formatHead);

const headsOf = (lines: unknown): readonly AuditHead[] =>
  (Array.isArray(lines) ? lines : []).flatMap((text) => (typeof text === 'string' ? (parseHead(text) ?? []) : []));

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
