import { abortable } from '../../core/async/abortable.ts';
import { ENDED_STATUSES } from '../../core/records/run.ts';
import { realTimer, type Timer } from '../../core/time.ts';
import type { RunJournal, StoredRun } from '../../store/run-journal.ts';
import { unknownRun } from './find-run.ts';

/** The kind of a change: only of the history of a run, or of its status and of what its callers wait for, too. */
export type RunChangeKind = 'history' | 'run';

/** Reports changes of runs: those of this process at once, those of other processes within 0.5 s. */
export interface RunWatch {
  /** The journal for the writers of this process, whose writes are reported. */
  readonly journal: RunJournal;
  /** Calls `onChange` whenever the run may have changed, until the returned function is called. */
  on(run: string, onChange: (kind: RunChangeKind) => void): () => void;
  /** Reports a change that is not in the journal. */
  changed(run: string): void;
}

export function watchRuns(journal: RunJournal): RunWatch {
  const listeners = new Map<string, Set<(kind: RunChangeKind) => void>>();
  let unwatch: (() => void) | undefined;

  function report(run: string, kind: RunChangeKind): void {
    for (const onChange of [...(listeners.get(run) ?? [])]) onChange(kind);
  }

  /** Reports a change in the store: of one run, or of any. */
  function onStoreChange(id?: string): void {
    for (const run of id === undefined ? [...listeners.keys()] : [id]) report(run, 'run');
  }

  return {
    changed: (run) => report(run, 'run'),
    journal: {
      ...journal,
      async append(write, urgency) {
        await journal.append(write, urgency);
        report(write.fence.run, write.change ? 'run' : 'history');
      },
    },
    on(run, onChange) {
      const own = listeners.get(run) ?? new Set();
      listeners.set(run, own.add(onChange));
      unwatch ??= journal.watch(onStoreChange);
      return () => {
        own.delete(onChange);
        if (own.size === 0 && listeners.get(run) === own) listeners.delete(run);
        if (listeners.size > 0) return;
        unwatch?.();
        unwatch = undefined;
      };
    },
  };
}

export interface UntilRunOptions<T> {
  readonly watch: Pick<RunWatch, 'on'>;
  readonly run: string;
  /** Returns the value that is waited for; undefined to go on waiting. */
  readonly check: () => Promise<T | undefined>;
  readonly signal: AbortSignal;
  /** The longest wait; without it the wait has no end. */
  readonly waitMs?: number | undefined;
  readonly timer?: Timer;
  /** Keeps the process alive meanwhile: a program waits for the run. Neither timers nor the engine do. */
  readonly isAwaited?: boolean;
}

const LONG_MS = 3_600_000;

/** Checks a run now and after each change of more than its history. Returns undefined when `waitMs` is over. */
export async function untilRun<T>(options: UntilRunOptions<T>): Promise<T | undefined> {
  const { watch, run, check, signal, waitMs, timer = realTimer, isAwaited = false } = options;
  const alive = isAwaited ? setInterval(() => {}, LONG_MS) : undefined;
  let isChanged = false;
  let isOver = false;
  let wake = () => {};
  const end = watch.on(run, (kind) => {
    if (kind === 'history') return;
    isChanged = true;
    wake();
  });
  const cancel =
    waitMs === undefined
      ? () => {}
      : timer(waitMs, () => {
          isOver = true;
          wake();
        });
  try {
    for (;;) {
      isChanged = false;
      const found = await check();
      if (found !== undefined || isOver) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      if (isChanged || isOver) resolve();
      await abortable(promise, signal);
    }
  } finally {
    clearInterval(alive);
    end();
    cancel();
  }
}

export interface UntilEndedOptions extends Pick<UntilRunOptions<StoredRun>, 'run' | 'signal' | 'isAwaited'> {
  readonly watch: Pick<RunWatch, 'on' | 'journal'>;
}

/** Waits for the end of a run. Throws NAME_UNKNOWN if there is no such run. */
export async function untilEnded(options: UntilEndedOptions): Promise<StoredRun> {
  const { watch, run } = options;
  const ended = await untilRun({
    ...options,
    async check() {
      const found = await watch.journal.get(run);
      if (!found) throw unknownRun(run);
      return ENDED_STATUSES.includes(found.status) ? found : undefined;
    },
  });
  if (!ended) throw unknownRun(run);
  return ended;
}
