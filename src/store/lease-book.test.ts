import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { onEveryDialect } from './fixtures.ts';
import { openStore } from './open-store.ts';

onEveryDialect((bench) => {
  verifies('A3', 'gives a lease to one of many processes, with growing epochs', async () => {
    const { location, keys } = bench.database;
    const others = await Promise.all([1, 2, 3].map(() => openStore({ location, ...keys, clock: () => 9_000 })));
    const stores = [bench.store, ...others];
    const epochs: number[] = [];
    for (let round = 0; round < 3; round++) {
      const taken = await Promise.all(stores.map(({ leases }) => leases.acquire('refresh', 60_000)));
      const [lease, ...more] = taken.flatMap((one) => one ?? []);
      expect(more).toEqual([]);
      epochs.push(lease?.epoch ?? 0);
      if (lease) await bench.store.leases.release(lease);
    }
    expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
    expect(new Set(epochs).size).toBe(3);
    await Promise.all(others.map((store) => store.close()));
  });

  it('gives away an expired lease, which its first holder can no longer release', async () => {
    const { leases } = bench.store;
    const first = await leases.acquire('refresh', 0);
    const second = await leases.acquire('refresh', 60_000);
    expect(second?.epoch).toBeGreaterThan(first?.epoch ?? Number.POSITIVE_INFINITY);
    if (first) await leases.release(first);
    expect(await leases.acquire('refresh', 60_000)).toBeUndefined();
    expect(await leases.acquire('another', 60_000)).toBeDefined();
  });

  it('renews a lease for its holder alone', async () => {
    const { leases } = bench.store;
    const first = await leases.acquire('runner', 0);
    if (!first) throw new Error('The lease is held.');
    expect(await leases.renew({ ...first, holder: 'another' }, 60_000)).toBe(false);
    expect(await leases.isHeld('runner')).toBe(false);
    expect(await leases.acquire('other', 60_000)).toBeDefined();
    expect(await leases.renew(first, 60_000)).toBe(true);
    expect(await leases.isHeld('runner')).toBe(true);
    expect(await leases.acquire('runner', 60_000)).toBeUndefined();
  });

  it('removes leases that were over for 10 minutes when one is taken', async () => {
    const { leases } = bench.store;
    for (const name of ['crashed', 'recent']) await leases.acquire(name, 0);
    await bench.database.run(`UPDATE leases SET expires_at = expires_at - 3600000 WHERE name = 'crashed'`);
    const crashed = await leases.acquire('another', 60_000);
    expect(crashed).toBeDefined();
    const left = await bench.database.run('SELECT name FROM leases ORDER BY name');
    expect(left).toEqual([{ name: 'another' }, { name: 'recent' }]);
  });

  it('ignores a lease whose end was written before the clock was set back', async () => {
    await bench.store.leases.acquire('refresh', 60_000);
    await bench.database.run('UPDATE leases SET expires_at = expires_at + 86400000');
    expect(await bench.store.leases.acquire('refresh', 60_000)).toBeDefined();
  });

  it('decides by the clock of the database on Postgres, and by the one clock of the machine on SQLite', async () => {
    const { location, keys } = bench.database;
    const late = await openStore({ location, ...keys, clock: () => 9_000 + 60_000 });
    await bench.store.leases.acquire('refresh', 60_000);
    const isPostgres = location.startsWith('postgres');
    // The clock of this process is a minute ahead. Postgres does not use it.
    expect((await late.leases.acquire('refresh', 60_000)) === undefined).toBe(isPostgres);
    await late.close();
  });
});
