import { newCallId } from '../../core/call/call-id.ts';
import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { ENDED_STATUSES, type RunOrigin } from '../../core/records/run.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import type { Clock } from '../../core/time.ts';
import type { JournalEntry, RunJournal, StoredRun } from '../../store/run-journal.ts';
import type { Workflow } from '../definition/canonical.ts';
import { INTERPRETER, type RunEntry, toRunEntry } from '../journal/entries.ts';
import { toRunCaller } from './start-run.ts';

/** The kinds of entries that another run can take over. */
const TAKEN: readonly RunEntry['kind'][] = ['waiting', 'decided', 'finished', 'recorded', 'timer', 'fired', 'log'];
const COMPENSATION = '~compensate';

export interface RetryOptions {
  readonly caller: Caller;
  /** The id of the first step that runs again. */
  readonly from: string;
  /** The configuration of this process. */
  readonly origin?: RunOrigin;
}

interface RetryParts {
  readonly journal: RunJournal;
  readonly clock?: Clock;
}

/**
 * Stores a new run of the same definition and input, with the ends of all steps before `from`. Throws INPUT_INVALID if
 * the run is open, the step is unknown, or a step before it has no result or was undone.
 */
export async function retryRun({ journal, clock = Date.now }: RetryParts, old: StoredRun, options: RetryOptions) {
  const { caller, from, origin } = options;
  if (!ENDED_STATUSES.includes(old.status)) throw stillOpen(old);
  const definition = (await journal.value(old.digest)) as unknown as Workflow | undefined;
  const before = stepsBefore(definition, from);
  const entries = await journal.entries(old.id);
  const stopped = stoppedIn(entries);
  if (stopped !== undefined && before.has(stopped)) throw withoutResult(stopped);
  const [created] = entries;
  const taken = entries.filter((entry) => isTaken(toRunEntry(entry), before));
  const now = clock();
  const { workflow, digest, input } = old;
  // Without `detached`: the process that retries a run executes it.
  const run: StoredRun = {
    id: newCallId(() => now),
    workflow,
    digest,
    input,
    interpreter: INTERPRETER,
    status: 'running',
    caller: toRunCaller(caller),
    depth: 0,
    startedAt: now,
    signalSeen: 0,
    retryOf: { run: old.id, from },
    ...(origin && { origin }),
  };
  const first: JournalEntry = { sequence: 1, at: now, kind: 'created', path: '', detail: created?.detail ?? {} };
  await journal.create(run, [], [first, ...taken.map((entry, at) => ({ ...entry, sequence: at + 2 }))]);
  return run;
}

/** Returns the ids of the steps before one. */
function stepsBefore(definition: Workflow | undefined, from: string): ReadonlySet<string> {
  const ids = definition?.steps.map(({ id }) => id) ?? [];
  const at = ids.indexOf(from);
  if (at >= 0) return new Set(ids.slice(0, at));
  throw new HeddleError('INPUT_INVALID', `The workflow has no step ${cutAndEscapeBreaks(from, 80)} of its own.`, {
    fix: `Name one of its steps: ${ids.join(', ')}. Steps inside of others cannot be named.`,
  });
}

/** Returns the step in which the run stopped, if it has begun and not ended. Steps follow each other. */
function stoppedIn(entries: readonly JournalEntry[]): string | undefined {
  const last = entries.map(toRunEntry).findLast(({ kind, path }) => kind === 'log' && !path.includes('/'));
  return last?.kind === 'log' && ['start', 'error'].includes(last.detail.type) ? last.path : undefined;
}

/** Tests whether an entry belongs to a step before. Throws INPUT_INVALID for one that was undone. */
function isTaken({ kind, path }: RunEntry, before: ReadonlySet<string>): boolean {
  const [step = '', ...rest] = path.split('/');
  if (!before.has(step)) return false;
  if (rest.includes(COMPENSATION)) throw undone(step);
  return TAKEN.includes(kind);
}

const undone = (step: string) =>
  new HeddleError('INPUT_INVALID', `The step ${step} was undone when the run stopped, so its result no longer holds.`, {
    fix: `Retry from ${step}, or from a step before it.`,
  });

const withoutResult = (step: string) =>
  new HeddleError('INPUT_INVALID', `The run stopped in the step ${step}, which has no result for the steps after it.`, {
    fix: `Retry from ${step}, or from a step before it.`,
  });

const stillOpen = ({ id, origin }: StoredRun) => {
  const cancel = ['heddle', 'runs', 'cancel', id, ...(origin?.file === undefined ? [] : ['--config', origin.file])];
  return new HeddleError('INPUT_INVALID', `The run ${id} has not ended, so it cannot be retried.`, {
    fix: `Wait for its end, or run \`${quoteCommand(cancel)}\` first.`,
  });
};
