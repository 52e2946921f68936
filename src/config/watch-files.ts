import { stat } from 'node:fs/promises';
import { fileVersion, MISSING } from './read/read-file.ts';

export interface Watch {
  /**
   * Watches these files from now on, those that do not exist included. The version is that of the file when it was
   * read; without one, the first poll tells.
   */
  follow(files: ReadonlyMap<string, string | undefined>): void;
  close(): void;
}

export interface WatchOptions {
  readonly onChange: () => void;
  readonly pollMs?: number;
  /** A save is often several writes: it counts when two polls with this distance see the same. */
  readonly settleMs?: number;
}

/**
 * Calls `onChange` when a file is no longer the version that was read. Polls instead of asking the system for events:
 * that works alike for editors that rename over a file, those that truncate it, network folders and containers.
 * Versions come from the reading, so a change between a reading and a poll is never missed.
 */
export function watchFiles({ onChange, pollMs = 300, settleMs = 100 }: WatchOptions): Watch {
  let known: ReadonlyMap<string, string | undefined> = new Map();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function schedule(ms: number, before?: string): void {
    timer = setTimeout(poll, ms, before).unref();
  }

  async function poll(before?: string): Promise<void> {
    const found = new Map(
      await Promise.all([...known.keys()].map(async (file) => [file, await versionNow(file)] as const)),
    );
    if (closed) return;
    const changed = [...known].filter(([file, version]) => version !== undefined && found.get(file) !== version);
    const now = JSON.stringify(changed.map(([file]) => [file, found.get(file)]));
    if (changed.length > 0 && now !== before) {
      schedule(settleMs, now);
      return;
    }
    known = new Map([...known].map(([file, version]) => [file, found.get(file) ?? version]));
    schedule(pollMs);
    if (changed.length > 0) onChange();
  }

  schedule(pollMs);
  return {
    follow(files) {
      known = new Map([...files].map(([file, version]) => [file, version ?? known.get(file)]));
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** Returns the version that a file has now. */
export const versionNow = (file: string): Promise<string> =>
  stat(file).then(fileVersion, ({ code }: NodeJS.ErrnoException) => (code === 'ENOENT' ? MISSING : `${code}`));
