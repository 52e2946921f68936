import type { ApprovalBox, OpenedApproval, OpenLimits, ReplaceCondition, StoredApproval } from '../approval-box.ts';
import type { ChangeWatch } from '../change-watch.ts';
import { type Statements, sql } from '../statements.ts';
import { APPROVAL_COLUMNS, approvalQueries, toApprovals } from './approval-queries.ts';
import { isOpenStatus, toApprovalRow } from './approval-row.ts';
import { approvalTable, countChange, IS_OPEN } from './approval-tables.ts';
import { notAwaited } from './call-rows.ts';

const ALWAYS = { raw: '1 = 1' };
const DURABLE = { durable: true };

/** Approvals in the table `approvals`. */
export function approvalBox(statements: Statements, watch: ChangeWatch): ApprovalBox {
  const table = approvalTable(statements, 'approvals');
  return {
    async open(approval, limits) {
      const opened = await openApproval(statements, approval, limits);
      if ('isNew' in opened && opened.isNew) watch.changedHere(approval.id);
      return opened;
    },
    ...approvalQueries(statements),
    async replace(next, options) {
      const isReplaced = await replaceApproval(statements, next, options);
      if (isReplaced) watch.changedHere(next.id);
      return isReplaced;
    },
    async markNotified(id, at) {
      await statements.write([sql`UPDATE ${table} SET notified_at = ${at} WHERE id = ${id} AND notified_at IS NULL`]);
    },
    watch: (onChange) => watch.add(onChange),
  };
}

async function openApproval(
  statements: Statements,
  approval: StoredApproval,
  { perPrincipal, total }: OpenLimits,
): Promise<OpenedApproval> {
  const table = approvalTable(statements, 'approvals');
  const row = toApprovalRow(approval);
  const [, added = [], found = [], ofPrincipal = []] = await statements.write(
    [
      countChange(statements),
      sql`INSERT INTO ${table} (${APPROVAL_COLUMNS})
        SELECT CAST(${row.id} AS TEXT), CAST(${row.binding} AS TEXT), CAST(${row.principal} AS TEXT),
          CAST(${row.name} AS TEXT), CAST(${row.status} AS TEXT), CAST(${row.version} AS INTEGER),
          CAST(${row.requested_at} AS DOUBLE PRECISION), CAST(${row.expires_at} AS DOUBLE PRECISION),
          CAST(${row.settled_at} AS DOUBLE PRECISION), CAST(${row.facts} AS TEXT), CAST(${row.exact} AS TEXT),
          CAST(${row.decisions} AS TEXT)
        WHERE (SELECT count(*) FROM ${table} WHERE ${IS_OPEN} AND principal = ${row.principal}) < ${perPrincipal}
          AND (SELECT count(*) FROM ${table} WHERE ${IS_OPEN}) < ${total}
        ON CONFLICT DO NOTHING RETURNING id`,
      sql`SELECT ${APPROVAL_COLUMNS} FROM ${table} WHERE binding = ${row.binding} AND ${IS_OPEN}`,
      sql`SELECT count(*) AS count FROM ${table} WHERE ${IS_OPEN} AND principal = ${row.principal}`,
    ],
    DURABLE,
  );
  const [open] = toApprovals(found);
  if (open) return { approval: open, isNew: added.length > 0 };
  return { limit: Number(ofPrincipal[0]?.count) >= perPrincipal ? 'perPrincipal' : 'total' };
}

async function replaceApproval(
  statements: Statements,
  next: StoredApproval,
  { unlessAwaited = false }: ReplaceCondition = {},
): Promise<boolean> {
  const row = toApprovalRow(next);
  // A settled approval is never opened again.
  const isPossible = isOpenStatus(row.status) ? IS_OPEN : ALWAYS;
  const isUnwanted = unlessAwaited ? notAwaited(statements) : ALWAYS;
  const [, replaced = []] = await statements.write(
    [
      countChange(statements),
      sql`UPDATE ${approvalTable(statements, 'approvals')}
        SET status = ${row.status}, version = ${row.version}, expires_at = ${row.expires_at},
          settled_at = ${row.settled_at}, facts = ${row.facts}, exact = ${row.exact}, decisions = ${row.decisions}
        WHERE id = ${row.id} AND version = ${row.version - 1} AND ${isPossible} AND ${isUnwanted} RETURNING id`,
    ],
    DURABLE,
  );
  return replaced.length > 0;
}
