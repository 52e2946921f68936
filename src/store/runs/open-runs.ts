import { type Clock, realTimer, type Timer } from '../../core/time.ts';
import type { WriteQueue } from '../audit/write-queue.ts';
import { changeWatch } from '../change-watch.ts';
import type { RunJournal } from '../run-journal.ts';
import type { RunQueue } from '../run-queue.ts';
import type { Statements } from '../statements.ts';
import { JournalQueue } from './journal-queue.ts';
import { readRunChanges } from './run-tables.ts';
import { storedJournal } from './stored-journal.ts';
import { storedQueue } from './stored-queue.ts';

/** The parts of a store for runs of workflows. */
export interface RunStores {
  readonly runs: RunJournal;
  readonly runQueue: RunQueue;
}

/** The same, opened. Closing ends all watchers. */
export interface OpenedRuns extends RunStores {
  close(): void;
}

export interface OpenRunsOptions {
  readonly statements: Statements;
  readonly queue: WriteQueue;
  readonly clock: Clock;
  readonly timer?: Timer;
}

/** Makes the parts for runs. Nothing is read until one is used. */
export function openRuns({ statements, queue, clock, timer = realTimer }: OpenRunsOptions): OpenedRuns {
  const watch = changeWatch({ statements, readChanges: readRunChanges, timer });
  return {
    runs: storedJournal({ statements, queue: new JournalQueue(queue), watch, clock }),
    runQueue: storedQueue(statements, clock),
    close: () => watch.close(),
  };
}
