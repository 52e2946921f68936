import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { migrateSqlite } from '../sqlite/migrate-sqlite.ts';
import { sqliteStatements } from '../sqlite/sqlite-statements.ts';
import type { SqlStatement, Statements } from '../statements.ts';
import { approvalQueries } from './approval-queries.ts';

/** Runs the queries on an empty SQLite database. Returns the plan of each statement that was read. */
async function plansOf(query: (queries: ReturnType<typeof approvalQueries>) => Promise<unknown>) {
  const db = new DatabaseSync(':memory:');
  migrateSqlite(db, ':memory:');
  const statements = sqliteStatements(db, () => 0);
  const read: SqlStatement[] = [];
  const recording: Statements = {
    ...statements,
    read(statement) {
      read.push(statement);
      return statements.read(statement);
    },
  };
  await query(approvalQueries(recording));
  const plans = read.map(({ sql, values }) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values)
      .map(({ detail }) => String(detail)),
  );
  db.close();
  return plans.flat();
}

const statuses = ['pending', 'approved', 'used'] as const;

verifies('G6', 'no query reads the whole table of approvals', async () => {
  const plans = await plansOf(async (queries) => {
    await queries.get('ap_1');
    await queries.find('ap_');
    await queries.latest('b');
    await queries.list({ statuses, limit: 10, now: 1 });
    await queries.list({ statuses, limit: 10, principal: 'p' });
    await queries.count({ statuses, now: 1 });
    await queries.count({ statuses, principal: 'p' });
    await queries.due(1, 10);
    await queries.nextExpiry();
    await queries.rejections('p', 'n', 0);
    await queries.unnotified(1, 10);
  });
  expect(plans.length).toBeGreaterThan(15);
  expect(plans.filter((step) => /^SCAN (?!CONSTANT ROW)/.test(step))).toEqual([]);
});

it('reads a page of a list in the order of an index, and that of one requester by its index', async () => {
  const page = await plansOf((queries) => queries.list({ statuses: ['pending'], limit: 10, now: 1 }));
  expect(page[0]).toContain('approvals_status (status=?)');
  const own = await plansOf((queries) => queries.list({ statuses: ['used'], limit: 10, principal: 'p' }));
  expect(own[0]).toContain('approvals_principal (principal=? AND status=?)');
});
