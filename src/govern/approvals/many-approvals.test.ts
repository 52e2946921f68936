import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { approvalApi } from '../../compose/approvals/approval-api.ts';
import { ada } from '../../core/fixtures.ts';
import { DIALECTS, type FreshDatabase, testPostgres } from '../../store/fixtures.ts';
import { realStore } from '../fixtures.ts';
import { approvalBench, approvalIdOf, boss, ops, START } from './fixtures.ts';

const TOTAL = 10_000;
/** SQL that returns the numbers 1 to n, each as `n`. */
const NUMBERS: Readonly<Record<string, (n: number) => string>> = {
  sqlite: (n) =>
    `(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${n}) SELECT n FROM c) AS numbers`,
  postgres: (n) => `generate_series(1, ${n}) AS numbers(n)`,
};

/** Copies the only approval n times, each for another requester and call, and each over a millisecond later. */
const copies = (dialect: string, n: number) => `
  INSERT INTO approvals (id, binding, principal, name, status, version, requested_at, expires_at, facts, exact, decisions)
  SELECT 'ap_' || n, 'b' || n, 'p' || n, name, status, version, requested_at - n, expires_at + n, facts, exact, decisions
  FROM approvals CROSS JOIN ${NUMBERS[dialect]?.(n)}`;

describe.each(DIALECTS)('with 10,000 open approvals on $dialect', ({ dialect, fresh }) => {
  /** Opens the first approval by a call, and `count - 1` copies of it. */
  async function openMany(count: number) {
    const database: FreshDatabase = await fresh();
    const bench = await approvalBench(ada, await realStore(async () => database));
    const first = approvalIdOf(await bench.send());
    await database.run(copies(dialect, count - 1));
    /** Opens the approvals of another process on the same database. */
    const another = async () => {
      const remove = async () => {};
      return approvalBench(ada, await realStore(async () => ({ ...database, remove })));
    };
    return { bench, first, another, api: approvalApi(async () => bench.flow) };
  }

  describe.skipIf(dialect === 'postgres' && !testPostgres)('of 10,000 requesters', () => {
    verifies('G6', 'the 10,000th is opened, and the next is refused until one is over', async () => {
      const { bench, first } = await openMany(TOTAL - 1);
      const last = approvalIdOf(await bench.send({ input: { n: 'last' } }));
      const more = { input: { n: 'more' } };
      await expect(bench.send(more)).rejects.toMatchObject({
        code: 'APPROVAL_REQUIRED',
        message: expect.stringContaining('Too many approvals are open.'),
      });
      // The same call joins its approval.
      expect(approvalIdOf(await bench.send({ input: { n: 'last' } }))).toBe(last);
      await bench.flow.decide(ops, first, { verdict: 'reject', note: 'no' });
      expect((await bench.send(more)).kind).toBe('waiting');
    });

    verifies('G6', 'a list has one page, and the count has all', async () => {
      const { api, first } = await openMany(TOTAL);
      const page = await api.list(boss);
      expect([page.length, page[0]?.id, page[99]?.id]).toEqual([100, first, 'ap_99']);
      expect([await api.count(boss), await api.count(ada), await api.count(boss, { status: 'used' })]).toEqual([
        ...[TOTAL, 1, 0],
      ]);
      expect(await api.list(boss, { status: 'all', limit: 3 })).toHaveLength(3);
      expect((await api.get(boss, 'ap_9999')).id).toBe('ap_9999');
      await expect(api.get(boss, 'ap_99')).resolves.toMatchObject({ id: 'ap_99' });
    });

    verifies('G6', 'a waiting call is settled by the decision of another process', async () => {
      const { bench, first, another } = await openMany(TOTAL);
      const settled = bench.flow.settled(first, new AbortController().signal);
      const other = await another();
      await other.flow.decide(ops, 'ap_7', { verdict: 'approve' });
      await other.flow.decide(ops, first, { verdict: 'approve' });
      await expect(settled).resolves.toMatchObject({ id: first, status: 'approved' });
    });

    verifies('G6', 'a list stores 100 states of approvals that are over, and shows no other as pending', async () => {
      const { bench, api } = await openMany(TOTAL);
      bench.now = START + 300_000 + TOTAL - 5;
      expect((await api.list(boss)).map(({ id }) => id)).toEqual(['ap_9996', 'ap_9997', 'ap_9998', 'ap_9999']);
      expect([await api.count(boss), await api.count(boss, { status: 'timeout' })]).toEqual([4, 100]);
    });
  });
});
