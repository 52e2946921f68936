import { type StatsListener, unwatchFile, watchFile } from 'node:fs';

export interface Watch {
  /** From now on these files, those that do not exist included. */
  follow(files: readonly string[]): void;
  close(): void;
}

export interface WatchOptions {
  readonly onChange: () => void;
  readonly pollMs?: number;
  /** A save is often several writes: it counts once it has been quiet for this long. */
  readonly settleMs?: number;
}

/**
 * Says when one of some files has changed, appeared or gone. Looks at them from
 * time to time instead of asking the system to tell: that works alike for editors
 * that rename over a file, those that truncate it, network folders and containers.
 */
export function watchFiles({ onChange, pollMs = 300, settleMs = 100 }: WatchOptions): Watch {
  const followed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const notice: StatsListener = (now, before) => {
    if (now.ino === 0 && before.ino === 0) return; // Node says once of each missing file that it is missing.
    clearTimeout(timer);
    timer = setTimeout(onChange, settleMs).unref();
  };
  function leave(file: string): void {
    followed.delete(file);
    unwatchFile(file, notice);
  }

  return {
    follow(files) {
      for (const file of [...followed]) if (!files.includes(file)) leave(file);
      for (const file of files) {
        if (followed.has(file)) continue;
        followed.add(file);
        watchFile(file, { interval: pollMs, persistent: false }, notice);
      }
    },
    close() {
      clearTimeout(timer);
      for (const file of [...followed]) leave(file);
    },
  };
}
