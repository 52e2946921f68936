import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type FreshDatabase, freshSqlite, recordOf } from '../fixtures.ts';
import { openStore } from '../open-store.ts';
import { claimOptions, DEFINITION, entryOf, INPUT, runOf, writeOf } from '../runs/fixtures.ts';
import type { Store } from '../store.ts';

let database: FreshDatabase;
let store: Store;
beforeEach(async () => {
  database = await freshSqlite();
  store = await openStore({ location: database.location, ...database.keys });
});
afterEach(async () => {
  await store.close();
  await database.remove();
});

verifies(
  'W5',
  'while the journal cannot be written `now` is rejected, and `soon` is written later in order',
  async () => {
    await store.runs.create(runOf('run_one'), [DEFINITION, INPUT], []);
    const [claimed] = (await store.runQueue?.claim(claimOptions())) ?? [];
    if (!claimed) throw new Error('not claimed');
    await database.run(
      `CREATE TRIGGER full BEFORE INSERT ON run_entries BEGIN SELECT RAISE(ABORT, 'disk is full'); END`,
    );
    const [first, second] = [
      store.runs.append(writeOf(claimed, [1]), 'soon'),
      store.runs.append(writeOf(claimed, [2]), 'soon'),
    ];
    const intent = store.audit.appendDurably(recordOf(), { run: 'run_one', epoch: claimed.lease.epoch });
    await expect(intent).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' });
    await expect(store.runs.append(writeOf(claimed, [3]), 'now')).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: 'The journal of runs could not be written: disk is full.',
    });
    expect(await store.runs.entries('run_one')).toEqual([]);
    await database.run('DROP TRIGGER full');
    await store.runs.append(writeOf(claimed, [3]), 'now');
    await Promise.all([first, second]);
    expect(await store.runs.entries('run_one')).toEqual([entryOf(1), entryOf(2), entryOf(3)]);
    const { faults } = await store.audit.verify({ signal: new AbortController().signal });
    expect(faults).toEqual([]);
  },
);

verifies('W5', 'a process that waits for nothing but a write lives until it is committed', async () => {
  await store.runs.create(runOf('run_one'), [DEFINITION, INPUT], []);
  const module = (name: string) => JSON.stringify(join(import.meta.dirname, '..', name));
  const program = `import { openStore } from ${module('open-store.ts')};
    import { claimOptions, writeOf } from ${module('runs/fixtures.ts')};
    const store = await openStore({ location: ${JSON.stringify(database.location)} });
    const [claimed] = await store.runQueue.claim(claimOptions());
    await store.runs.append(writeOf(claimed, [1]), 'soon');
    process.stdout.write('written');`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  expect([stdout, status]).toEqual(['written', 0]);
  expect(await store.runs.entries('run_one')).toEqual([entryOf(1)]);
});
