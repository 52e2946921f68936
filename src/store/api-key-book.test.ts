import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { StoredApiKey } from '../core/records/api-key.ts';
import { onEveryDialect } from './fixtures.ts';
import { openStore } from './open-store.ts';

const keyOf = (name: string, change: Partial<StoredApiKey> = {}): StoredApiKey => ({
  name,
  sha256: Buffer.from(name.padEnd(32, '.')).toString('hex'),
  roles: ['user'],
  createdAt: 1_700_000_000_000,
  ...change,
});

onEveryDialect((bench) => {
  verifies('P4', 'keeps keys over a restart and finds them by their digest alone', async () => {
    const both = [keyOf('Build', { roles: ['operator', 'user'], profile: 'ci', person: true }), keyOf('agent')];
    for (const key of both.toReversed()) expect(await bench.store.keys.add(key)).toBe(true);
    await bench.store.close();
    bench.store = await openStore({ location: bench.database.location });
    const { keys } = bench.store;
    expect(await keys.all()).toEqual(both);
    expect(await keys.find(keyOf('agent').sha256)).toEqual(keyOf('agent'));
    expect(await keys.find(keyOf('agent').sha256.toUpperCase())).toBeUndefined();
    expect(await keys.find('agent')).toBeUndefined();
  });

  verifies('P4', 'refuses a key in one process after another process removed it', async () => {
    const other = await openStore({ location: bench.database.location });
    await bench.store.keys.add(keyOf('agent'));
    expect(await other.keys.find(keyOf('agent').sha256)).toBeDefined();
    expect(await bench.store.keys.remove('agent')).toBe(true);
    expect(await other.keys.find(keyOf('agent').sha256)).toBeUndefined();
    expect(await other.keys.remove('agent')).toBe(false);
    await other.close();
  });

  verifies('P4', 'keeps the key of a taken name', async () => {
    await bench.store.keys.add(keyOf('agent'));
    expect(await bench.store.keys.add(keyOf('agent', { sha256: 'f'.repeat(64), roles: ['owner'] }))).toBe(false);
    expect(await bench.store.keys.all()).toEqual([keyOf('agent')]);
  });

  verifies('G7', 'a key from before the column has no person, nor has one with any other value', async () => {
    await bench.store.keys.add(keyOf('agent', { person: true }));
    const { sha256 } = keyOf('agent');
    expect((await bench.store.keys.find(sha256))?.person).toBe(true);
    await bench.database.run('UPDATE api_keys SET person = 2');
    expect(await bench.store.keys.find(sha256)).not.toHaveProperty('person');
    const columns = '(name, sha256, roles, created_at)';
    await bench.database.run(`INSERT INTO api_keys ${columns} VALUES ('older', '${'a'.repeat(64)}', '["user"]', 1)`);
    expect(await bench.store.keys.find('a'.repeat(64))).not.toHaveProperty('person');
  });

  it('drops roles that are unknown or cannot be parsed', async () => {
    await bench.store.keys.add(keyOf('agent'));
    for (const roles of ['["root","auditor"]', '"owner"', 'owner', '{"owner":true}']) {
      await bench.database.run(`UPDATE api_keys SET roles = '${roles}'`);
      const found = await bench.store.keys.find(keyOf('agent').sha256);
      expect([roles, found?.roles]).toEqual([roles, roles.includes('auditor') ? ['auditor'] : []]);
    }
  });
});
