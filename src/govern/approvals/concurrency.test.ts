import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { ada } from '../../core/fixtures.ts';
import { DIALECTS, testPostgres } from '../../store/fixtures.ts';
import { realStore } from '../fixtures.ts';
import { anApprovalRule, approvalBench, approvalIdOf, boss, ops } from './fixtures.ts';

describe.each(DIALECTS)('an approval on $dialect', ({ dialect, fresh }) => {
  describe.skipIf(dialect === 'postgres' && !testPostgres)('and many callers at the same time:', () => {
    const open = async () => approvalBench(ada, await realStore(fresh));

    verifies('G7', 'is used once by 50 callers', async () => {
      const bench = await open();
      const id = approvalIdOf(await bench.send());
      await bench.flow.decide(ops, id, { verdict: 'approve' });
      const continuation = { kind: 'approval', id } as const;
      const results = await Promise.all(Array.from({ length: 50 }, () => bench.send({ continuation })));
      expect(results.filter(({ kind }) => kind === 'complete')).toHaveLength(1);
      expect(bench.reached).toHaveLength(1);
      const others = results.flatMap((one) => (one.kind === 'waiting' ? [one.approval.id] : []));
      expect(others).toHaveLength(49);
      expect(new Set(others).size).toBe(1);
    });

    verifies('G7', 'that its call does not need any more lets one of 10 repeats run', async () => {
      for (const settledBy of ['rule', 'standing'] as const) {
        const bench = await open();
        const continuation = { kind: 'approval', id: approvalIdOf(await bench.send({ id: 'same' })) } as const;
        if (settledBy === 'standing') bench.approvals = { standing: [{ tool: 'mcp__demo', arguments: {} }] };
        const decision = { decision: { effect: 'allow', rule: 'r', reason: 'r' } } as const;
        const again = () => bench.send({ id: 'same', continuation, ...(settledBy === 'rule' && decision) });
        const results = await Promise.allSettled(Array.from({ length: 10 }, again));
        expect([settledBy, bench.reached.length]).toEqual([settledBy, 1]);
        const refused = results.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
        expect(refused).toEqual(Array(9).fill('APPROVAL_REJECTED'));
      }
    });

    verifies('G7', 'is requested once by 50 identical calls', async () => {
      const bench = await open();
      const results = await Promise.all(Array.from({ length: 50 }, () => bench.send()));
      expect(new Set(results.map(approvalIdOf)).size).toBe(1);
    });

    verifies('G6', 'is decided once by two identities', async () => {
      const bench = await open();
      const id = approvalIdOf(await bench.send());
      const decided = await Promise.allSettled([
        bench.flow.decide(ops, id, { verdict: 'approve' }),
        bench.flow.decide(boss, id, { verdict: 'reject', note: 'no' }),
      ]);
      expect(decided.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect((await bench.store.approvals.get(id))?.decisions).toHaveLength(1);
    });

    verifies('G6', 'counts an identity once that approves 20 times', async () => {
      const bench = await open();
      bench.approvals = {
        rules: [anApprovalRule({ stages: [{ approvers: ['role:approver', 'role:owner'], need: 2 }] })],
      };
      const id = approvalIdOf(await bench.send());
      const decided = await Promise.allSettled(
        Array.from({ length: 20 }, () => bench.flow.decide(ops, id, { verdict: 'approve' })),
      );
      expect(decided.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await bench.store.approvals.get(id)).toMatchObject({ status: 'pending', decisions: [{ by: 'key:ops' }] });
    });

    verifies('G6', 'is approved or times out, and never both', async () => {
      const bench = await open();
      const ids = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => approvalIdOf(await bench.send({ input: { n } }))),
      );
      const deciding = ids.map((id) => bench.flow.decide(ops, id, { verdict: 'approve' }));
      const decided = Promise.allSettled(deciding);
      await deciding[0];
      bench.now += 300_000;
      await Promise.all([bench.flow.sweep(), bench.flow.sweep()]);
      const ends = await decided;
      for (const [at, id] of ids.entries()) {
        const stored = await bench.store.approvals.get(id);
        const isApproved = ends[at]?.status === 'fulfilled';
        expect(stored).toMatchObject({
          status: isApproved ? 'approved' : 'timeout',
          decisions: isApproved ? [{ by: 'key:ops' }] : [],
        });
      }
      await until('each has two records', async () => {
        const records = await bench.store.audit.search({ limit: 200 });
        return records.filter(({ name }) => name === 'approvals.state').length === 2 * ids.length;
      });
    });
  });
});
