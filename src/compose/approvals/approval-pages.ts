import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Approval, ApprovalQuery } from '../../core/records/approval.ts';
import type { Page } from '../../core/records/listing.ts';
import { nextApproval } from '../../govern/approvals/next-approval.ts';
import type { ApprovalBox, ApprovalFilter, ApprovalListing, StoredApproval } from '../../store/approval-box.ts';
import type { StoredStanding } from '../../store/approvals/standing-book.ts';

/** The largest JSON of a page. A single approval that is larger is a page of its own. */
const MAX_PAGE_BYTES = 1024 * 1024;
const ROWS_PER_READ = 100;
/** The approvals that one page or count reads at most. The next page goes on behind them. */
const MAX_READ = 10_000;
const CURSOR = /^(\d{1,16})\.(ap_\w{1,61})$/;

export interface PagedApprovals {
  readonly box: ApprovalBox;
  readonly by: Caller;
  readonly filter: ApprovalFilter;
}

/** Returns a page of at most 1 MB. Its approvals have no exact arguments over 4 KB, and no content of forms. */
export async function approvalPage(
  from: PagedApprovals,
  { limit, cursor, now }: { readonly limit: number; readonly cursor: string | undefined; readonly now: number },
): Promise<Page<Approval>> {
  const items: Approval[] = [];
  let bytes = 0;
  const next = (last: Position): Page<Approval> => ({ items, next: `${last.requestedAt}.${last.id}` });
  let after = cursor === undefined ? undefined : positionAt(cursor);
  for (let read = 0; read < MAX_READ; read += ROWS_PER_READ) {
    const wanted = from.by.profile === undefined ? limit - items.length + 1 : ROWS_PER_READ;
    const rows = await readRows(from, after, Math.min(wanted, ROWS_PER_READ));
    for (const row of rows.found) {
      const listed = toListed(nextApproval(row, { kind: 'time' }, { now }).approval);
      bytes += Buffer.byteLength(JSON.stringify(listed)) + 1;
      const last = items.at(-1);
      if (last && (items.length === limit || bytes > MAX_PAGE_BYTES)) return next(last);
      items.push(listed);
    }
    if (rows.last === undefined) return { items };
    after = rows.last;
  }
  return after ? next(after) : { items };
}

/** Returns the approvals of as many pages as it takes to have `limit`. */
export async function collectPages(
  read: (query: Pick<ApprovalQuery, 'limit' | 'cursor'>) => Promise<Page<Approval>>,
  limit: number,
): Promise<readonly Approval[]> {
  const found: Approval[] = [];
  let page = await read({ limit });
  found.push(...page.items);
  while (page.next !== undefined && found.length < limit) {
    page = await read({ limit: limit - found.length, cursor: page.next });
    found.push(...page.items);
  }
  return found;
}

/** Counts approvals; those of a caller with a profile among the newest 10,000: the store has no index of profiles. */
export async function countListed({ box, by, filter }: PagedApprovals): Promise<number> {
  if (by.profile === undefined) return box.count(filter);
  let count = 0;
  let after: Position | undefined;
  for (let read = 0; read < MAX_READ; read += ROWS_PER_READ) {
    const rows = await readRows({ box, by, filter }, after, ROWS_PER_READ);
    count += rows.found.length;
    if (rows.last === undefined) break;
    after = rows.last;
  }
  return count;
}

type Position = NonNullable<ApprovalListing['after']>;

/** Reads rows and leaves out those of other profiles. `last` is the last row; absent if no more follow. */
async function readRows({ box, by, filter }: PagedApprovals, after: Position | undefined, limit: number) {
  const rows = await box.list({ ...filter, limit, ...(after && { after }) });
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return { found: rows.filter((one) => isInProfileOf(by, one)), last };
}

function positionAt(cursor: string): Position {
  const [, requestedAt, id] = CURSOR.exec(cursor) ?? [];
  if (id !== undefined) return { requestedAt: Number(requestedAt), id };
  throw new HeddleError('USAGE_INVALID', 'The cursor is not one of a list of approvals.', {
    fix: 'Pass the cursor that the page before returned, or none.',
  });
}

/** Returns true if a caller has no profile, or has that of an approval or standing approval. */
export const isInProfileOf = (by: Caller, { profile }: Pick<StoredStanding, 'id' | 'profile'>): boolean =>
  by.profile === undefined || by.profile === profile;

/** Leaves out the fields that only the store needs. */
export function toPublic(stored: StoredApproval): Approval {
  const { binding: _, principal: __, session: ___, version: ____, runner: _____, ...approval } = stored;
  return approval;
}

/** The content of a form is as large as its approver wants. */
function toListed(stored: StoredApproval): Approval {
  const approval = toPublic(stored);
  return { ...approval, decisions: approval.decisions.map(({ content: _, ...decision }) => decision) };
}
