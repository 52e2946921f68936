import { parseExact } from '../../core/exact-numbers.ts';
import type { ApprovalStatus, ApprovalSubject } from '../../core/records/approval.ts';
import type { StoredApproval } from '../approval-box.ts';
import { storable } from '../rows.ts';
import type { SqlRow } from '../statements.ts';

/** A row of the table `approvals`. */
export interface StoredApprovalRow extends SqlRow {
  readonly id: string;
  readonly binding: string;
  readonly principal: string;
  readonly name: string;
  readonly status: ApprovalStatus;
  readonly version: number;
  readonly requested_at: number;
  readonly expires_at: number;
  readonly settled_at: number | null;
  /** JSON of all other fields. */
  readonly facts: string;
  /** JSON of the exact arguments; null once the approval is settled. */
  readonly exact: string | null;
  readonly decisions: string;
  /** In lists: the beginning of the JSON of exact arguments that are not read whole. */
  readonly cut?: string | null;
}

/** The parts of a subject that contain arguments. */
type ExactPart = Pick<
  ApprovalSubject,
  'arguments' | 'inputResponses' | 'extraParams' | 'meta' | 'changedByHooks' | 'preview'
>;

/** Tells whether an approval can still be decided or used. */
export const isOpenStatus = (status: ApprovalStatus): boolean => status === 'pending' || status === 'approved';

/** Converts an approval to its row. A settled one has no exact arguments, even if its subject still has them. */
export function toApprovalRow(approval: StoredApproval): StoredApprovalRow {
  const { id, binding, principal, status, version, requestedAt, expiresAt, settledAt, decisions, ...rest } = approval;
  const { arguments: input, inputResponses, extraParams, meta, changedByHooks, preview, ...named } = rest.subject;
  const exact: ExactPart = {
    arguments: input,
    ...(inputResponses && { inputResponses }),
    ...(extraParams && { extraParams }),
    ...(meta && { meta }),
    ...(changedByHooks && { changedByHooks }),
    ...(preview && { preview }),
  };
  const isExact = !named.isSanitised;
  const keepsExact = isExact && isOpenStatus(status);
  const subject = isExact ? { ...named, ...(!keepsExact && WITHHELD) } : { ...named, ...exact };
  return {
    id: storable(id),
    binding: storable(binding),
    principal: storable(principal),
    name: storable(named.name),
    status,
    version,
    requested_at: requestedAt,
    expires_at: expiresAt,
    settled_at: settledAt ?? null,
    facts: JSON.stringify({ ...rest, subject }),
    exact: keepsExact ? JSON.stringify(exact) : null,
    decisions: JSON.stringify(decisions),
  };
}

/** `exact` begins with it. */
const BEFORE_ARGUMENTS = '{"arguments":';
const MAX_LISTED_BYTES = 4096;
const MAX_CUT_CHARS = 400;

/** Columns of a list: exact arguments over 4 KB are not read, except for the beginning of their JSON. */
export const LISTED_EXACT = `CASE WHEN octet_length(exact) <= ${MAX_LISTED_BYTES} THEN exact END AS exact,
  CASE WHEN octet_length(exact) > ${MAX_LISTED_BYTES}
    THEN substr(exact, ${BEFORE_ARGUMENTS.length + 1}, ${MAX_CUT_CHARS}) END AS cut`;

const WITHHELD = { arguments: null, isSanitised: true } as const;

/** Converts a row back. The JSON was written by `toApprovalRow`. */
export function fromApprovalRow(row: StoredApprovalRow): StoredApproval {
  const { id, binding, principal, status, version, requested_at, expires_at, settled_at } = row;
  const { subject, ...facts } = JSON.parse(row.facts) as StoredApproval;
  const exact = row.exact === null ? cutPart(row) : (parseExact(row.exact) as unknown as ExactPart);
  return {
    ...facts,
    id,
    binding,
    principal,
    status,
    version,
    requestedAt: requested_at,
    expiresAt: expires_at,
    ...(settled_at !== null && { settledAt: settled_at }),
    subject: { ...subject, ...exact },
    decisions: JSON.parse(row.decisions) as StoredApproval['decisions'],
  };
}

function cutPart({ cut }: StoredApprovalRow): Pick<ApprovalSubject, 'arguments' | 'isCut'> | undefined {
  return typeof cut === 'string' ? { arguments: `${cut}…`, isCut: true } : undefined;
}
