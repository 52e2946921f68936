import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { StandingApproval } from '../../core/records/approval.ts';
import { onEveryDialect } from '../fixtures.ts';
import { openStore } from '../open-store.ts';

const standingOf = (id: string, change: Partial<StandingApproval> = {}): StandingApproval => ({
  id,
  tool: 'files.write',
  caller: 'key:ci',
  arguments: { path: 'reports/*' },
  digest: 'd1',
  approvedBy: 'owner',
  createdAt: 1_000,
  from: 'store',
  ...change,
});

onEveryDialect((bench) => {
  verifies('G6', 'keeps standing approvals over a restart until they are revoked', async () => {
    const both = [standingOf('sa_1', { expiresAt: 9_000, session: 's' }), standingOf('sa_2', { createdAt: 2_000 })];
    for (const one of both.toReversed()) expect(await bench.store.standing.add(one)).toBe(true);
    expect(await bench.store.standing.add(standingOf('sa_1', { tool: '*' }))).toBe(false);
    await bench.store.close();
    bench.store = await openStore({ location: bench.database.location });
    expect(await bench.store.standing.all()).toEqual(both);
    expect(await bench.store.standing.revoke('sa_1')).toBe(true);
    expect(await bench.store.standing.revoke('sa_1')).toBe(false);
    expect(await bench.store.standing.use('sa_1')).toBe(false);
    expect(await bench.store.standing.all()).toEqual(both.slice(1));
  });

  verifies('G6', 'counts uses exactly for concurrent calls of two processes', async () => {
    const other = await openStore({ location: bench.database.location });
    await bench.store.standing.add(standingOf('sa_1', { usesLeft: 20 }));
    const uses = await Promise.all(
      Array.from({ length: 50 }, (_, n) => (n % 2 ? other : bench.store).standing.use('sa_1')),
    );
    expect(uses.filter(Boolean)).toHaveLength(20);
    expect((await other.standing.all())[0]?.usesLeft).toBe(0);
    await other.close();
  });

  verifies('G6', 'does not count the uses of a standing approval without a limit', async () => {
    await bench.store.standing.add(standingOf('sa_1'));
    expect(await bench.store.standing.use('sa_1')).toBe(true);
    expect(await bench.store.standing.all()).toEqual([standingOf('sa_1')]);
  });
});
