import { isAbsolute } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { HeddleError } from '../core/errors.ts';
import type { Config, Problem } from './config.ts';
import { watchFiles } from './watch-files.ts';

export interface FollowConfigOptions {
  readonly first: Config;
  readonly read: () => Promise<Config>;
  /** Further files whose change gives another configuration, with their versions before the first reading. */
  readonly also: ReadonlyMap<string, string>;
  /** Given each new configuration that can be used. */
  readonly apply: (config: Config) => void;
  readonly onProblems: (problems: readonly Problem[]) => void;
  /** How long a file may be missing before its removal takes effect. */
  readonly graceMs?: number;
}

/**
 * Reads the configuration again when its files change. A file that became unreadable leaves the last good
 * configuration in force. So does a file that vanished, for a grace period: some editors and deployment tools delete
 * a file before they write it again.
 */
export function followConfig(options: FollowConfigOptions): { close(): void } {
  const { first, read, also, apply, onProblems, graceMs = 5000 } = options;
  const grace = gracePeriod(graceMs, readNext);
  let readable = foundIn(first);
  let versions = also; // Known for the first reading only; later polls tell.
  let reading: Promise<void> = Promise.resolve();
  let closed = false;
  let told = new Set(first.problems.map(({ message }) => message));

  function note({ files, refreshed }: Config): void {
    // A file that vanished may be in no list now, and is still expected back.
    const others = [...readable, ...also.keys()].map((file) => [file, versions.get(file)] as const);
    versions = new Map();
    const all = new Map([...others, ...files.map(({ file, version }) => [file, version] as const)]);
    watch.follow(new Map([...all].filter(([file]) => isAbsolute(file)))); // Not variables, nor addresses.
    refreshed.then((changed) => changed && readNext());
  }

  // One after the other: an older reading must not overtake a newer one.
  function readNext(): void {
    reading = reading.then(readAgain);
  }

  // What was said before need not be said at every save.
  function tell(problems: readonly Problem[]): void {
    const fresh = problems.filter(({ message }) => !told.has(message));
    told = new Set(problems.map(({ message }) => message));
    if (fresh.length > 0) onProblems(fresh);
  }

  async function readAgain(): Promise<void> {
    if (closed) return;
    try {
      const config = await read();
      if (closed) return;
      const ruined = config.files.filter(({ file, state }) => state === 'broken' && readable.has(file));
      const awaited = grace.awaited(vanishedFrom(config, readable));
      const kept = [...ruined.map(({ file }) => stillInForce(file)), ...awaited.map((file) => gone(file, graceMs))];
      tell([...config.problems, ...(kept.length > 0 ? kept : atNextStart(first, config))]);
      if (kept.length === 0) readable = foundIn(config);
      note(config);
      if (kept.length === 0) apply(config);
    } catch (thrown) {
      tell([unreadable(thrown)]);
    }
  }

  const watch = watchFiles({ onChange: readNext });
  note(first);
  return {
    close() {
      closed = true;
      watch.close();
      grace.close();
    },
  };
}

const foundIn = ({ files }: Config): ReadonlySet<string> =>
  new Set(files.flatMap(({ file, state }) => (state === 'found' ? [file] : [])));

function vanishedFrom({ files }: Config, readable: ReadonlySet<string>): readonly string[] {
  const present = new Set(files.flatMap(({ file, state }) => (state === 'absent' ? [] : [file])));
  return [...readable].filter((file) => isAbsolute(file) && !present.has(file));
}

/** Counts how long files have been missing, and calls `onEnd` when one has been missing too long. */
function gracePeriod(graceMs: number, onEnd: () => void) {
  const timers = new Map<string, NodeJS.Timeout | 'over'>();

  function end(file: string): void {
    timers.set(file, 'over');
    onEnd();
  }
  function forget(file: string): void {
    const timer = timers.get(file);
    if (timer !== 'over') clearTimeout(timer);
    timers.delete(file);
  }

  return {
    /** Returns the missing files that may still come back. */
    awaited(missing: readonly string[]): readonly string[] {
      for (const file of timers.keys()) if (!missing.includes(file)) forget(file);
      for (const file of missing) {
        if (!timers.has(file)) timers.set(file, setTimeout(end, graceMs, file).unref());
      }
      return missing.filter((file) => timers.get(file) !== 'over');
    },
    close: () => [...timers.keys()].forEach(forget),
  };
}

// These were used when things were opened, and are not opened again.
const OPENED_ONCE = ['gateway', 'connect', 'store'] as const;

function atNextStart(first: Config, next: Config): readonly Problem[] {
  const changed = OPENED_ONCE.filter((key) => !isDeepStrictEqual(first.settings[key], next.settings[key]));
  if (changed.length === 0) return [];
  const message = `A change of ${changed.join(', ')} counts from the next start on.`;
  return [{ level: 'warn', code: 'CONFIG_INVALID', message, fix: 'Start the gateway again when it suits you.' }];
}

const stillInForce = (file: string): Problem => ({
  level: 'warn',
  code: 'CONFIG_INVALID',
  message: `${file} cannot be read any more, so the last good configuration stays in force.`,
  fix: 'Correct the file; it is read again by itself.',
});

const gone = (file: string, graceMs: number): Problem => ({
  level: 'warn',
  code: 'CONFIG_INVALID',
  message: `${file} is gone, or empty; the last good configuration stays in force for ${graceMs / 1000} s.`,
  fix: 'Put it back, or wait until its removal takes effect.',
});

function unreadable(thrown: unknown): Problem {
  const { message, fix } = HeddleError.from(thrown);
  return { level: 'error', code: 'CONFIG_INVALID', message: `The configuration cannot be read again: ${message}`, fix };
}
