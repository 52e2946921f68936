import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { plansOf } from '../fixtures.ts';
import { approvalQueries } from './approval-queries.ts';

const statuses = ['pending', 'approved', 'used'] as const;

verifies('G6', 'no query reads the whole table of approvals', async () => {
  const plans = await plansOf(async (statements) => {
    const queries = approvalQueries(statements);
    await queries.get('ap_1');
    await queries.find('ap_');
    await queries.latest('b');
    await queries.list({ statuses, limit: 10, now: 1 });
    await queries.list({ statuses, limit: 10, principal: 'p' });
    await queries.list({ statuses, limit: 10, after: { id: 'ap_1', requestedAt: 1 } });
    await queries.list({ statuses, limit: 10, principal: 'p', name: 'n', after: { id: 'ap_1', requestedAt: 1 } });
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
  const page = await plansOf((statements) =>
    approvalQueries(statements).list({ statuses: ['pending'], limit: 10, now: 1 }),
  );
  expect(page[0]).toContain('approvals_status (status=?)');
  const second = await plansOf((statements) =>
    approvalQueries(statements).list({
      ...{ statuses: ['pending'], limit: 10, now: 1, after: { id: 'ap_1', requestedAt: 1 } },
    }),
  );
  expect(second[0]).toContain('approvals_status (status=? AND requested_at<?)');
  const own = await plansOf((statements) =>
    approvalQueries(statements).list({ statuses: ['used'], limit: 10, principal: 'p' }),
  );
  expect(own[0]).toContain('approvals_principal (principal=? AND status=?)');
});
