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
  verifies('G11', 'the log verifies after a prune is killed before or after any of its writes', async () => {
    const { store, database } = bench;
    const old = Array.from({ length: OLD }, (_, at) => at + 1);
    await write(store, old);
    const other = await openStore({ location: database.location, clock: () => 9_000 });
    await write(other, [...old, 20_001]);
    await write(store, [20_002, 20_003]);
    await other.close();
    const left: number[] = [];
    for (let point = 0, killed: string | null = 'SIGKILL'; killed === 'SIGKILL'; point++) {
      killed = await prune(database.location, point);
      const { faults, records } = await store.audit.verify({ signal });
      expect([point, faults]).toEqual([point, []]);
      left.push(records);
    }
    // Some were killed between two deletions, and the last prune was complete.
    expect(left.some((records) => records > 10 && records < 2 * OLD)).toBe(true);
    expect(left.at(-1)).toBeLessThan(40);
    await write(store, [20_004]);
    expect((await store.audit.verify({ signal })).faults).toEqual([]);
  });
});
