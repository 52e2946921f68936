import { repeatEvery, type Timer } from '../core/time.ts';
import type { Statements } from './statements.ts';

/** Half of the 0.5 s within which a change by another process arrives. */
const WATCH_INTERVAL_MS = 200;

/** Reports changes of one part of the store to watchers. */
export interface ChangeWatch {
  add(onChange: (id?: string) => void): () => void;
  /** Reports a change by this process at once. */
  changedHere(id?: string): void;
  close(): void;
}

export interface ChangeWatchOptions {
  readonly statements: Statements;
  /** Reads the number of changes by all processes. */
  readonly readChanges: (statements: Statements) => Promise<number>;
  readonly timer: Timer;
}

/** Compares the count of changes with the last one seen, while there is a watcher. */
export function changeWatch({ statements, readChanges, timer }: ChangeWatchOptions): ChangeWatch {
  /** By watcher: true until its first report. A change between its own read and `add` must not be lost. */
  const watchers = new Map<object, { readonly onChange: (id?: string) => void; isNew: boolean }>();
  let stop: (() => void) | undefined;
  let lastVersion: number | undefined;
  let lastChanges: number | undefined;
  let isReading = false;
  let isClosed = false;

  function report(isChanged: boolean): void {
    for (const watcher of watchers.values()) {
      if (!isChanged && !watcher.isNew) continue;
      watcher.isNew = false;
      watcher.onChange();
    }
  }

  function changedHere(id?: string): void {
    for (const { onChange } of watchers.values()) onChange(id);
  }

  async function findChange(): Promise<boolean> {
    const version = statements.dataVersion?.();
    if (version !== undefined && version === lastVersion) return false;
    const changes = await readChanges(statements);
    const isChanged = changes !== lastChanges;
    lastVersion = version;
    lastChanges = changes;
    return isChanged;
  }

  async function poll(): Promise<void> {
    if (isReading) return;
    isReading = true;
    try {
      report(await findChange());
    } catch {
      // The store cannot be read now. The next poll finds the change.
    } finally {
      isReading = false;
    }
  }

  function end(): void {
    stop?.();
    stop = undefined;
    lastVersion = undefined;
    lastChanges = undefined;
  }

  return {
    add(onChange) {
      if (isClosed) return () => undefined;
      const key = {};
      watchers.set(key, { onChange, isNew: true });
      stop ??= repeatEvery(timer, WATCH_INTERVAL_MS, () => void poll());
      return () => {
        watchers.delete(key);
        if (watchers.size === 0) end();
      };
    },
    changedHere,
    close() {
      isClosed = true;
      watchers.clear();
      end();
    },
  };
}
