import type { ApprovalBox, ApprovalFilter, ApprovalListing, StoredApproval } from '../approval-box.ts';
import { storable } from '../rows.ts';
import { type RawSql, type SqlRow, type SqlStatement, type Statements, sql } from '../statements.ts';
import { fromApprovalRow, isOpenStatus, LISTED_EXACT, type StoredApprovalRow } from './approval-row.ts';
import { approvalTable, IS_OPEN } from './approval-tables.ts';

export const APPROVAL_COLUMNS = {
  raw: 'id, binding, principal, name, status, version, requested_at, expires_at, settled_at, facts, exact, decisions',
};
const LISTED_COLUMNS = { raw: APPROVAL_COLUMNS.raw.replace('exact', LISTED_EXACT) };
const MAX_FOUND = 10;
const MAX_REJECTIONS = 100;
const ID_TEXT = /^\w{1,64}$/;
/** Comes after every character of an id. */
const AFTER_ID_TEXT = '{';

export const toApprovals = (rows: readonly SqlRow[]): StoredApproval[] =>
  rows.map((row) => fromApprovalRow(row as StoredApprovalRow));

/** Reads approvals. Each query uses an index. */
export function approvalQueries(
  statements: Statements,
): Omit<ApprovalBox, 'open' | 'replace' | 'markNotified' | 'watch'> {
  const table = approvalTable(statements, 'approvals');
  return {
    async get(id) {
      const rows = await statements.read(sql`SELECT ${APPROVAL_COLUMNS} FROM ${table} WHERE id = ${storable(id)}`);
      return toApprovals(rows)[0];
    },
    async find(prefix) {
      if (!ID_TEXT.test(prefix)) return [];
      const exact = toApprovals(
        await statements.read(sql`SELECT ${APPROVAL_COLUMNS} FROM ${table} WHERE id = ${prefix}`),
      );
      if (exact.length > 0) return exact;
      return toApprovals(
        await statements.read(
          sql`SELECT ${APPROVAL_COLUMNS} FROM ${table} WHERE id >= ${prefix} AND id < ${prefix + AFTER_ID_TEXT}
            ORDER BY id LIMIT ${{ raw: String(MAX_FOUND) }}`,
        ),
      );
    },
    async latest(binding) {
      const rows = await statements.read(
        // Of two in the same millisecond the settled one is older.
        sql`SELECT ${APPROVAL_COLUMNS} FROM ${table} WHERE binding = ${binding}
          ORDER BY requested_at DESC, CASE WHEN settled_at IS NULL THEN 0 ELSE 1 END, settled_at DESC, id LIMIT 1`,
      );
      return toApprovals(rows)[0];
    },
    list: (query) => listApprovals(statements, query),
    async count(filter) {
      const counts = await Promise.all(
        conditions(filter).map((wanted) =>
          statements.read(sql`SELECT count(*) AS count FROM ${table} WHERE ${wanted}`),
        ),
      );
      return counts.flat().reduce((sum, row) => sum + Number(row.count), 0);
    },
    async due(now, limit) {
      return toApprovals(
        await statements.read(
          sql`SELECT ${APPROVAL_COLUMNS} FROM ${table} WHERE ${IS_OPEN} AND expires_at <= ${now} ORDER BY expires_at, id LIMIT ${limit}`,
        ),
      );
    },
    async nextExpiry() {
      const next = (status: string) => sql`(SELECT min(expires_at) FROM ${table} WHERE status = ${status})`;
      const [row] = await statements.read(sql`SELECT ${next('pending')} AS pending, ${next('approved')} AS approved`);
      const times = [row?.pending, row?.approved].flatMap((time) => (typeof time === 'number' ? [time] : []));
      return times.length === 0 ? undefined : Math.min(...times);
    },
    async rejections(principal, name, since) {
      const rows = await statements.read(
        sql`SELECT settled_at FROM ${table}
          WHERE principal = ${principal} AND status = 'rejected' AND settled_at >= ${since} AND name = ${name}
          ORDER BY settled_at DESC LIMIT ${{ raw: String(MAX_REJECTIONS) }}`,
      );
      return rows.map((row) => Number(row.settled_at));
    },
    async unnotified(now, limit) {
      return toApprovals(
        await statements.read(
          sql`SELECT ${APPROVAL_COLUMNS} FROM ${table} WHERE status = 'pending' AND notified_at IS NULL AND expires_at + 0 > ${now}
            ORDER BY requested_at, id LIMIT ${limit}`,
        ),
      );
    },
  };
}

/**
 * Lists approvals with one query per status: the index has them in the order of the list, so that each reads no more
 * than its page. Those of one requester are few: the addition makes SQLite find them by the requester, and sort.
 */
async function listApprovals(
  statements: Statements,
  { limit, after, ...filter }: ApprovalListing,
): Promise<readonly StoredApproval[]> {
  const table = approvalTable(statements, 'approvals');
  const time = { raw: filter.principal === undefined ? 'requested_at' : 'requested_at + 0' };
  const behind = after === undefined ? sql`` : sql` AND ${isAfter(after, time)}`;
  const pages = await Promise.all(
    conditions(filter).map((wanted) =>
      statements.read(
        sql`SELECT ${LISTED_COLUMNS} FROM ${table} WHERE ${wanted}${behind} ORDER BY ${time} DESC, id LIMIT ${limit}`,
      ),
    ),
  );
  return toApprovals(pages.flat()).sort(newestFirst).slice(0, limit);
}

/** Returns the condition that an approval comes after another one in a list. */
const isAfter = ({ id, requestedAt }: NonNullable<ApprovalListing['after']>, time: RawSql): SqlStatement =>
  sql`${time} <= ${requestedAt} AND (requested_at < ${requestedAt} OR id > ${storable(id)})`;

/** Returns one condition per status. The addition keeps SQLite from an index that is not in the order of a list. */
function conditions({ statuses, principal, name, now }: ApprovalFilter): readonly SqlStatement[] {
  const own = principal === undefined ? sql`` : sql` AND principal = ${principal}`;
  const named = name === undefined ? sql`` : sql` AND name = ${storable(name)}`;
  return statuses.map((status) => {
    const timely = now !== undefined && isOpenStatus(status) ? sql` AND expires_at + 0 > ${now}` : sql``;
    return sql`status = ${status}${own}${named}${timely}`;
  });
}

const newestFirst = (one: StoredApproval, other: StoredApproval): number =>
  other.requestedAt - one.requestedAt || (one.id < other.id ? -1 : 1);
