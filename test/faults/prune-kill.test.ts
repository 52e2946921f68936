import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'vitest';
import { onEveryDialect, recordOf } from '../../src/store/fixtures.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { verifies } from '../requirements.ts';

const PROGRAM = join(import.meta.dirname, '..', 'servers', 'pruning-process.ts');
const OLD = 2_100; // Each of two writers: records in three windows of 2,000 ids.
const BEFORE = 10_000;
// After the checkpoint; after the first deletion; before the first deletion of what is left.
const POINTS = [1, 3, 2];
const COMPLETE = 1_000;
const signal = new AbortController().signal;

const write = (store: Store, times: readonly number[]) =>
  Promise.all(times.map((at) => store.audit.appendDurably(recordOf({ at }))));

/** Returns the signal that ended the program. */
async function prune(location: string, point: number): Promise<string | null> {
  const args = [PROGRAM, location, String(BEFORE), String(point)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [, killed] = await once(child, 'exit');
  return killed;
}

onEveryDialect((bench) => {
  verifies('G11', 'the log verifies after a prune is killed between two of its writes', async () => {
    const { store, database } = bench;
    const old = Array.from({ length: OLD }, (_, at) => at + 1);
    await write(store, old);
    const other = await openStore({ location: database.location, clock: () => 9_000 });
    await write(other, [...old, 20_001]);
    await write(store, [20_002, 20_003]);
    await other.close();
    const left: number[] = [];
    for (const point of POINTS) {
      expect(await prune(database.location, point)).toBe('SIGKILL');
      const { faults, records } = await store.audit.verify({ signal });
      expect([point, faults]).toEqual([point, []]);
      left.push(records);
    }
    const all = 2 * OLD + 3;
    expect(left[0]).toBe(all + 1); // The checkpoint is written, and nothing is removed yet.
    expect(left.slice(1).every((records) => records > 10 && records < all)).toBe(true);
    expect(await prune(database.location, COMPLETE)).toBeNull();
    expect((await store.audit.verify({ signal })).records).toBeLessThan(10);
    await write(store, [20_004]);
    expect((await store.audit.verify({ signal })).faults).toEqual([]);
  });
});
