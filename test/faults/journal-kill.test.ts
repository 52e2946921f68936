import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'vitest';
import { onEveryDialect } from '../../src/store/fixtures.ts';
import { DEFINITION, INPUT, runOf } from '../../src/store/runs/fixtures.ts';
import { verifies } from '../requirements.ts';

const PROGRAM = join(import.meta.dirname, '..', 'servers', 'journaling-process.ts');
const RUNS = ['run_1', 'run_2', 'run_3', 'run_4', 'run_5'];
const STEPS = 200;

/** Runs the program and kills it after this many steps. Returns the steps that it printed. */
async function killAfter(steps: number, location: string): Promise<readonly string[]> {
  const child = spawn(process.execPath, [PROGRAM, location, ...RUNS], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
    if (printed.split('\n').length > steps) child.kill('SIGKILL');
  });
  await once(child, 'close');
  return printed.slice(0, printed.lastIndexOf('\n')).split('\n');
}

onEveryDialect((bench) => {
  verifies('F8', 'the journal has no gap, and each intent a start, after kill -9 between appends', async () => {
    const { runs, audit } = bench.store;
    for (const id of RUNS) await runs.create(runOf(id), [DEFINITION, INPUT], []);
    const printed = await killAfter(STEPS, bench.database.location);
    expect(printed.length).toBeGreaterThanOrEqual(STEPS);
    const starts = new Set<string>();
    for (const id of RUNS) {
      const entries = await runs.entries(id);
      expect(entries.map(({ sequence }) => sequence)).toEqual(entries.map((_, at) => at + 1));
      for (const { kind, sequence } of entries) if (kind === 'started') starts.add(`${id} ${sequence}`);
    }
    const intents = (await audit.search({ limit: 100_000 })).map(({ callId }) => callId);
    expect(printed.filter((step) => !intents.includes(step))).toEqual([]);
    expect(intents.filter((step) => !starts.has(step))).toEqual([]);
    const { faults, records } = await audit.verify({ signal: new AbortController().signal });
    expect([faults, records]).toEqual([[], intents.length]);
  });
});
