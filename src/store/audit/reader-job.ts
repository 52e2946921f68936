import type { AuditHead, AuditSearch, AuditVerification } from '../../core/records/audit-entry.ts';
import type { ReadRange, StoredRow } from './read-audit.ts';

/** The work of a reader thread. */
export type ReaderJob = { readonly location: string } & (
  | { readonly kind: 'read'; readonly query: AuditSearch; readonly range: ReadRange }
  | { readonly kind: 'verify'; readonly head: AuditHead | undefined }
);

/** A message of a reader thread. After `rows` it waits until the next ones are wanted. */
export type ReaderMessage =
  | { readonly rows: readonly StoredRow[] }
  | { readonly done: AuditVerification | undefined }
  | { readonly error: { readonly message: string; readonly code?: string | undefined } };
