import { randomUUID } from 'node:crypto';
import { type Clock, realTimer, repeatEvery, type Timer } from '../../core/time.ts';
import { isProcessAlive, thisProcess } from '../../process/process-start.ts';
import type { RunJournal } from '../../store/run-journal.ts';
import { advance } from '../../workflow/run/advance.ts';
import type { AdvanceRun, RunEngine } from '../../workflow/run/engine.ts';
import type { RunParts } from '../../workflow/run/run-parts.ts';
import type { WorkflowParts } from '../workflows/workflow-parts.ts';

const DAY_MS = 86_400_000;
const RETENTION_MS = 30 * DAY_MS;

/** Opens the engine of the store: the embedded one on SQLite, DBOS on Postgres. */
export async function openEngine(
  {
    store,
    options,
    wallClock,
    storeLocation,
    origin,
  }: Pick<WorkflowParts, 'store' | 'options' | 'wallClock' | 'storeLocation' | 'origin'>,
  parts: RunParts,
): Promise<RunEngine> {
  const { journal } = parts;
  const pickUp = options.runs === true;
  const run: AdvanceRun = (claimed, signal) => advance(claimed, parts, signal);
  if (store.runQueue) {
    const { embeddedEngine } = await import('../../workflow/engines/embedded-engine.ts');
    const owner = { id: randomUUID(), ...thisProcess() };
    const common = { journal, queue: store.runQueue, advance: run, pickUp, clock: wallClock };
    return embeddedEngine({ ...common, owner, origin, isAlive: isProcessAlive });
  }
  // Without the origin: replicas of one Postgres store are identical by definition.
  const { openDbosEngine } = await import('../../workflow/engines/dbos-engine.ts');
  const common = { journal, leases: store.leases, advance: run, pickUp, clock: wallClock };
  return openDbosEngine({ location: storeLocation, ...common });
}

/** Removes runs that ended 30 days ago, now and once a day. Runs that go on or are in doubt stay. */
export function retainRuns(journal: Pick<RunJournal, 'prune'>, clock: Clock, timer: Timer = realTimer): () => void {
  // If the store cannot be written, the next day removes them.
  const prune = () => void journal.prune(clock() - RETENTION_MS).catch(() => {});
  prune();
  return repeatEvery(timer, DAY_MS, prune);
}
