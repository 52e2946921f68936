// A process that claims a run and then does nothing with it: it has the lease, and has written no event. The tests kill
// it. Argument: the location of the store. It prints a line for each run that it has claimed.
import { randomUUID } from 'node:crypto';
import { isProcessAlive, thisProcess } from '../../src/process/process-start.ts';
import { openStore } from '../../src/store/open-store.ts';
import { openDbosEngine } from '../../src/workflow/engines/dbos-engine.ts';
import { embeddedEngine } from '../../src/workflow/engines/embedded-engine.ts';
import type { AdvanceRun } from '../../src/workflow/run/engine.ts';

const [, , location = ''] = process.argv;
const store = await openStore({ location });
const advance: AdvanceRun = ({ run }) => {
  process.stdout.write(`${run.id}\n`);
  return new Promise(() => {});
};
const common = { journal: store.runs, advance, pickUp: true };
const owner = { id: randomUUID(), ...thisProcess() };
if (store.runQueue) embeddedEngine({ ...common, queue: store.runQueue, owner, isAlive: isProcessAlive });
else await openDbosEngine({ ...common, location, leases: store.leases });
process.stdin.resume();
