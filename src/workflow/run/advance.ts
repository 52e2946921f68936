import type { StoredRun } from '../../store/run-journal.ts';
import type { ClaimedRun } from '../../store/run-queue.ts';
import type { Workflow } from '../definition/canonical.ts';
import { INTERPRETER } from '../journal/entries.ts';
import { type JournalDurable, openDurable } from '../journal/journal-durable.ts';
import { RunInterrupted } from './durable.ts';
import type { Advanced } from './engine.ts';
import type { RunEnd } from './run-end.ts';
import { RunExecution } from './run-execution.ts';
import type { RunParts } from './run-parts.ts';

/** A key that is revoked stops the calls of its runs after this time at the latest. */
const CALLER_MS = 5000;

/**
 * Executes a claimed run until it ends or every branch waits. Its end and its suspension are durable before this
 * returns. A run of a newer interpreter is not touched.
 */
export async function advance(claimed: ClaimedRun, parts: RunParts, signal: AbortSignal): Promise<Advanced> {
  const { run, lease } = claimed;
  if (run.interpreter > INTERPRETER) return { kind: 'too-new' };
  const { journal } = parts;
  const [entries, definition, input, caller] = await Promise.all([
    journal.entries(run.id),
    journal.value(run.digest),
    journal.value(run.input),
    parts.callerOf(run),
  ]);
  const execution = new RunExecution(run, parts);
  const isValid = callerCheck(run, parts);
  const opened: JournalDurable = await openDurable({
    run,
    fence: { run: run.id, epoch: lease.epoch },
    caller: caller ?? { id: run.caller.id, roles: [], via: 'workflow' },
    parts,
    entries,
    onQuiet: () => execution.onQuiet(),
    onLost: () => execution.onLost(),
    async requireCaller() {
      if (await isValid()) return;
      opened.activity.interrupt();
      void execution.end(revoked(run.caller.id));
      throw new RunInterrupted();
    },
    onFull: (stop) => void execution.end({ ...stop, stepsExecuted: 0 }),
  });
  const close = await execution.begin(opened, signal);
  try {
    if (!caller) void execution.end(revoked(run.caller.id));
    else if (definition === undefined || input === undefined) void execution.end(missing(run.digest));
    else if (isOutdated(run, definition as unknown as Workflow)) void execution.end(OUTDATED);
    else
      void execution.interpret(() =>
        parts.execute(definition as unknown as Workflow, input, { durable: opened.durable, run }),
      );
    return await execution.done;
  } finally {
    close();
    opened.sleeps.close();
  }
}

/** Tests before calls whether the key of a run still exists. If the lookup fails, the earlier result counts. */
function callerCheck(run: StoredRun, { callerOf, clock = Date.now }: RunParts): () => Promise<boolean> {
  let lookedUpAt = clock();
  return async () => {
    if (clock() - lookedUpAt < CALLER_MS) return true;
    lookedUpAt = clock();
    return callerOf(run).then(
      (found) => found !== undefined,
      () => true,
    );
  };
}

const revoked = (id: string): RunEnd => ({
  status: 'failed',
  stepsExecuted: 0,
  error: {
    code: 'PERMISSION_DENIED',
    message: `The key of ${id}, which started the run, was revoked.`,
    fix: 'Start the workflow again with another key.',
  },
});

/** The first interpreter gave classic references another meaning: a call would get other arguments. */
const isOutdated = ({ interpreter }: StoredRun, { form }: Workflow): boolean => form === 'classic' && interpreter < 2;

const OUTDATED: RunEnd = {
  status: 'failed',
  stepsExecuted: 0,
  error: {
    code: 'INTERPRETER_CHANGED',
    message: 'The run was begun by an earlier build, in which the classic form had another meaning.',
    fix: 'Start the workflow again, or go on with `heddle runs retry` from a step.',
  },
};

const missing = (digest: string): RunEnd => ({
  status: 'failed',
  stepsExecuted: 0,
  error: { code: 'INTERNAL', message: `The journal has no definition ${digest} or no input of the run.` },
});
