import { expect, it } from 'vitest';
import { plansOf } from '../fixtures.ts';
import { claimOptions } from './fixtures.ts';
import { runQueries } from './run-queries.ts';
import { storedQueue } from './stored-queue.ts';

it('no query of runs reads a whole table, and a list is read in the order of an index', async () => {
  const plans = await plansOf(async (statements) => {
    const queries = runQueries(statements);
    await queries.get('run_1');
    await queries.find('run_');
    await queries.ofCall('key:ci', 'call-1');
    await queries.leftBy('key:ci', 'digest');
    await queries.entries('run_1', 1);
    await queries.entries('run_1', 0, ['log']);
    await queries.signals('run_1', 1);
    await queries.list({ caller: 'key:ci' });
    await queries.list({ status: 'open' });
    await queries.list({ status: 'in_doubt' });
    await queries.list({ parent: 'run_1' });
    const queue = storedQueue(statements, () => 0);
    await queue.claim(claimOptions());
    await queue.claim(claimOptions({ only: ['run_1', 'run_2'] }));
    await queue.claim(claimOptions({ origin: { folder: '/shop' } }));
    await queue.nextDue();
    await queue.nextDue({ folder: '/shop' });
  });
  expect(plans.length).toBeGreaterThan(12);
  expect(plans.filter((step) => /^SCAN (?!owners|[\w.]+ USING (COVERING )?INDEX)/.test(step))).toEqual([]);
  const all = await plansOf((statements) => runQueries(statements).list({}));
  expect(all.filter((step) => step.includes('TEMP B-TREE') && !step.includes('LAST TERM'))).toEqual([]);
  const wanted = claimOptions({ origin: { folder: '/shop' } });
  const claim = await plansOf((statements) => storedQueue(statements, () => 0).claim(wanted));
  const used = claim.filter((step) => step.startsWith('SEARCH'));
  expect(used).toEqual([
    'SEARCH main.runs USING COVERING INDEX runs_owned (owner>?)',
    'SEARCH main.runs USING COVERING INDEX runs_owned (owner>?)',
    expect.stringContaining('USING INDEX runs_due (due_at<?)'),
  ]);
});
