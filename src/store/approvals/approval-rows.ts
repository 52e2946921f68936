import type { ApprovalBox, OpenedApproval, OpenLimits, ReplaceCondition, StoredApproval } from '../approval-box.ts';
import { storable } from '../rows.ts';
import { type SqlRow, type Statements, sql } from '../statements.ts';
import { fromApprovalRow, isOpenStatus, type StoredApprovalRow, toApprovalRow } from './approval-row.ts';
import { approvalTable, countChange, IS_OPEN } from './approval-tables.ts';
import type { ApprovalWatch } from './approval-watch.ts';
import { notAwaited } from './call-rows.ts';

const COLUMNS = {
  raw: 'id, binding, principal, name, status, version, requested_at, expires_at, settled_at, facts, exact, decisions',
};
const ALWAYS = { raw: '1 = 1' };
const DURABLE = { durable: true };
const MAX_FOUND = 10;
const MAX_REJECTIONS = 100;
const ID_TEXT = /^\w{1,64}$/;

const toApprovals = (rows: readonly SqlRow[]) => rows.map((row) => fromApprovalRow(row as StoredApprovalRow));

/** Approvals in the table `approvals`. */
export function approvalBox(statements: Statements, watch: ApprovalWatch): ApprovalBox {
  const table = approvalTable(statements, 'approvals');
  return {
    async open(approval, limits) {
      const opened = await openApproval(statements, approval, limits);
      if ('isNew' in opened && opened.isNew) watch.changedHere();
      return opened;
    },
    async get(id) {
      const rows = await statements.read(sql`SELECT ${COLUMNS} FROM ${table} WHERE id = ${storable(id)}`);
      return toApprovals(rows)[0];
    },
    async find(prefix) {
      if (!ID_TEXT.test(prefix)) return [];
      const exact = toApprovals(await statements.read(sql`SELECT ${COLUMNS} FROM ${table} WHERE id = ${prefix}`));
      if (exact.length > 0) return exact;
      return toApprovals(
        await statements.read(
          sql`SELECT ${COLUMNS} FROM ${table} WHERE substr(id, 1, ${{ raw: String(prefix.length) }}) = ${prefix}
            ORDER BY requested_at DESC, id LIMIT ${{ raw: String(MAX_FOUND) }}`,
        ),
      );
    },
    async latest(binding) {
      const rows = await statements.read(
        sql`SELECT ${COLUMNS} FROM ${table} WHERE binding = ${binding} ORDER BY requested_at DESC, id LIMIT 1`,
      );
      return toApprovals(rows)[0];
    },
    async replace(next, options) {
      const isReplaced = await replaceApproval(statements, next, options);
      if (isReplaced) watch.changedHere();
      return isReplaced;
    },
    async list({ statuses, limit, principal = null }) {
      if (statuses.length === 0) return [];
      const wanted = { raw: statuses.map((status) => `'${status}'`).join(', ') };
      return toApprovals(
        await statements.read(
          sql`SELECT ${COLUMNS} FROM ${table} WHERE status IN (${wanted})
            AND (CAST(${principal} AS TEXT) IS NULL OR principal = ${principal})
            ORDER BY requested_at DESC, id LIMIT ${limit}`,
        ),
      );
    },
    async due(now, limit) {
      return toApprovals(
        await statements.read(
          sql`SELECT ${COLUMNS} FROM ${table} WHERE ${IS_OPEN} AND expires_at <= ${now} ORDER BY expires_at, id LIMIT ${limit}`,
        ),
      );
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
          sql`SELECT ${COLUMNS} FROM ${table} WHERE status = 'pending' AND notified_at IS NULL AND expires_at + 0 > ${now}
            ORDER BY requested_at, id LIMIT ${limit}`,
        ),
      );
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
      sql`INSERT INTO ${table} (${COLUMNS})
        SELECT CAST(${row.id} AS TEXT), CAST(${row.binding} AS TEXT), CAST(${row.principal} AS TEXT),
          CAST(${row.name} AS TEXT), CAST(${row.status} AS TEXT), CAST(${row.version} AS INTEGER),
          CAST(${row.requested_at} AS DOUBLE PRECISION), CAST(${row.expires_at} AS DOUBLE PRECISION),
          CAST(${row.settled_at} AS DOUBLE PRECISION), CAST(${row.facts} AS TEXT), CAST(${row.exact} AS TEXT),
          CAST(${row.decisions} AS TEXT)
        WHERE (SELECT count(*) FROM ${table} WHERE ${IS_OPEN} AND principal = ${row.principal}) < ${perPrincipal}
          AND (SELECT count(*) FROM ${table} WHERE ${IS_OPEN}) < ${total}
        ON CONFLICT DO NOTHING RETURNING id`,
      sql`SELECT ${COLUMNS} FROM ${table} WHERE binding = ${row.binding} AND ${IS_OPEN}`,
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
