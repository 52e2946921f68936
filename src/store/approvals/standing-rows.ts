import { type SqlRow, type Statements, sql } from '../statements.ts';
import { approvalTable, countChange } from './approval-tables.ts';
import type { StandingBook, StoredStanding } from './standing-book.ts';

const DURABLE = { durable: true };

/** Standing approvals in the table `standing_approvals`. */
export function standingBook(statements: Statements): StandingBook {
  const table = approvalTable(statements, 'standing_approvals');
  return {
    async all() {
      const rows = await statements.read(sql`SELECT id, facts, uses_left, expires_at FROM ${table}`);
      return rows.map(fromStandingRow).toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    },
    async add(standing) {
      const { id, usesLeft = null, expiresAt = null, ...facts } = standing;
      const [, added = []] = await statements.write(
        [
          countChange(statements),
          sql`INSERT INTO ${table} (id, facts, uses_left, expires_at)
            VALUES (${id}, ${JSON.stringify(facts)}, ${usesLeft}, ${expiresAt}) ON CONFLICT (id) DO NOTHING RETURNING id`,
        ],
        DURABLE,
      );
      return added.length > 0;
    },
    async revoke(id) {
      const [, removed = []] = await statements.write(
        [countChange(statements), sql`DELETE FROM ${table} WHERE id = ${id} RETURNING id`],
        DURABLE,
      );
      return removed.length > 0;
    },
    async use(id) {
      const [used = []] = await statements.write(
        [
          sql`UPDATE ${table} SET uses_left = uses_left - 1
            WHERE id = ${id} AND (uses_left IS NULL OR uses_left > 0) RETURNING id`,
        ],
        DURABLE,
      );
      return used.length > 0;
    },
    async giveBack(id) {
      await statements.write(
        [sql`UPDATE ${table} SET uses_left = uses_left + 1 WHERE id = ${id} AND uses_left IS NOT NULL`],
        DURABLE,
      );
    },
  };
}

function fromStandingRow({ id, facts, uses_left, expires_at }: SqlRow): StoredStanding {
  return {
    ...(JSON.parse(String(facts)) as StoredStanding),
    id: String(id),
    ...(uses_left !== null && { usesLeft: Number(uses_left) }),
    ...(expires_at !== null && { expiresAt: Number(expires_at) }),
  };
}
