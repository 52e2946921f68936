import { type Clock, realTimer, repeatEvery, type Timer } from '../../core/time.ts';
import type { RunJournal } from '../../store/run-journal.ts';

const DAY_MS = 86_400_000;
const RETENTION_MS = 30 * DAY_MS;

/** Removes runs that ended 30 days ago, now and once a day. Runs that go on or are in doubt stay. */
export function retainRuns(journal: Pick<RunJournal, 'prune'>, clock: Clock, timer: Timer = realTimer): () => void {
  // If the store cannot be written, the next day removes them.
  const prune = () => void journal.prune(clock() - RETENTION_MS).catch(() => {});
  prune();
  return repeatEvery(timer, DAY_MS, prune);
}
