import { stat } from 'node:fs/promises';
import { fileVersion, MISSING } from './read/read-file.ts';

export interface Watch {
  /**
   * Replaces the set of watched files; they need not exist. The value is the version that was read. Without one, the
   * version of the first poll counts as read.
   */
  follow(files: ReadonlyMap<string, string | undefined>): void;
  close(): void;
}

export interface WatchOptions {
  readonly onChange: () => void;
  readonly pollMs?: number;
  /** Distance of two polls that must agree before a change is reported: a save is often several writes. */
  readonly settleMs?: number;
}

/**
 * Calls `onChange` when a file is no longer the version that was read. Polls instead of using file system events: that
 * works for editors that rename, editors that truncate, network folders and containers. The versions come from the
 * reader, so a change between a read and a poll is not missed.
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
