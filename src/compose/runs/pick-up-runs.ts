import { HeddleError } from '../../core/errors.ts';
import { realTimer, type Timer } from '../../core/time.ts';
import type { RunJournal } from '../../store/run-journal.ts';
import type { WorkflowLibrary } from '../workflows/workflow-library.ts';

/** The delay after a failure of the store, which may be restarting. */
const RETRY_MS = 1000;

export interface PickUpOptions {
  readonly journal: Pick<RunJournal, 'list' | 'watch'>;
  readonly library: Pick<WorkflowLibrary, 'all' | 'watch'>;
  readonly closing: AbortSignal;
  readonly engine: () => Promise<unknown>;
  readonly timer?: Timer;
}

/**
 * Opens the engine, which picks up runs, once there is a workflow or an open run. Without both it costs nothing. An engine
 * that fails is opened again; throws DRIVER_MISSING if it is not installed.
 */
export async function pickUpRuns({
  journal,
  library,
  closing,
  engine,
  timer = realTimer,
}: PickUpOptions): Promise<void> {
  if (closing.aborted) return;
  const isNeeded = async () => library.all().size > 0 || (await journal.list({ status: 'open', limit: 1 })).length > 0;
  const found = Promise.withResolvers<void>();
  const check = () =>
    void isNeeded().then(
      (needed) => needed && found.resolve(),
      () => closing.aborted || timer(RETRY_MS, check),
    );
  const ends = [journal.watch(check), library.watch(check)];
  closing.addEventListener('abort', () => found.resolve(), { once: true });
  check();
  await found.promise;
  for (const end of ends) end();
  while (!closing.aborted && !(await isOpen(engine))) await pause(timer, closing);
}

async function isOpen(engine: PickUpOptions['engine']): Promise<boolean> {
  try {
    await engine();
    return true;
  } catch (thrown) {
    if (HeddleError.from(thrown).code === 'DRIVER_MISSING') throw thrown;
    return false;
  }
}

async function pause(timer: Timer, closing: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = timer(RETRY_MS, resolve);
  closing.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  cancel();
}
