import { isAbsolute } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { HeddleError } from '../core/errors.ts';
import type { Config, Problem } from './config.ts';
import { STRICT_NOTICE } from './read/strict-by-error.ts';
import { watchFiles } from './watch-files.ts';

export interface FollowConfigOptions {
  readonly first: Config;
  readonly read: () => Promise<Config>;
  /** Further files whose change gives another configuration, with their versions before the first reading. */
  readonly also: ReadonlyMap<string, string>;
  /** Called with each new configuration that can be used. */
  readonly apply: (config: Config) => void;
  readonly onProblems: (problems: readonly Problem[]) => void;
  /** Time that a file may be missing before its removal takes effect. */
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
  let applied = first;
  let versions = also; // Known for the first reading only; later ones come from polls.
  let reading: Promise<void> = Promise.resolve();
  let closed = false;
  let reported = new Set(first.problems.map(({ message }) => message));

  function watchFilesOf({ files, refreshed, watched = new Map() }: Config): void {
    // A file that vanished may be missing in `files`, and may come back.
    const others = [...readable, ...also.keys()].map((file) => [file, versions.get(file)] as const);
    versions = new Map();
    const all = new Map([...others, ...files.map(({ file, version }) => [file, version] as const), ...watched]);
    watch.follow(new Map([...all].filter(([file]) => isAbsolute(file)))); // Not variables, nor addresses.
    refreshed.then((changed) => changed && readNext());
  }

  // Reads run one after the other: an older one must not replace the result of a newer one.
  function readNext(): void {
    reading = reading.then(readAgain);
  }

  // Reports each problem once, not at every save.
  function report(problems: readonly Problem[]): void {
    const fresh = problems.filter(({ message }) => !reported.has(message));
    reported = new Set(problems.map(({ message }) => message));
    if (fresh.length > 0) onProblems(fresh);
  }

  async function readAgain(): Promise<void> {
    if (closed) return;
    try {
      const config = await read();
      if (closed) return;
      const broken = config.files.filter(
        // The rules of an invalid policy file are remembered by the reader, and mode strict is set.
        ({ file, state, isPolicy }) => state === 'broken' && !isPolicy && readable.has(file),
      );
      const missing = vanishedFrom(config, readable);
      const warnings = [
        ...broken.map(({ file }) => stillInForce(file)),
        ...grace.awaited(missing).map((file) => vanished(file, graceMs)),
      ];
      if (warnings.length > 0) {
        report([...config.problems.map(withoutNotice), ...warnings]);
        watchFilesOf(config);
        return;
      }
      const gone = missing.map((file) => goneWithServers(file, applied, config));
      report([...config.problems, ...gone, ...atNextStart(first, config)]);
      readable = foundIn(config);
      applied = config;
      watchFilesOf(config);
      apply(config);
    } catch (thrown) {
      report([unreadable(thrown)]);
    }
  }

  const watch = watchFiles({ onChange: readNext });
  watchFilesOf(first);
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

// Settings that are read only when Heddle starts.
const OPENED_ONCE = ['gateway', 'connect', 'store'] as const;

function atNextStart(first: Config, next: Config): readonly Problem[] {
  const changed = OPENED_ONCE.filter((key) => !isDeepStrictEqual(first.settings[key], next.settings[key]));
  if (changed.length === 0) return [];
  const message = `A change of ${changed.join(', ')} takes effect at the next start.`;
  return [{ level: 'warn', code: 'CONFIG_INVALID', message, fix: 'Restart the gateway.' }];
}

const stillInForce = (file: string): Problem => ({
  level: 'warn',
  code: 'CONFIG_INVALID',
  message: `${file} can no longer be read, so the last good configuration stays in force.`,
  fix: 'Correct the file; it is read again automatically.',
});

const vanished = (file: string, graceMs: number): Problem => ({
  level: 'warn',
  code: 'CONFIG_INVALID',
  message: `${file} is missing or empty; the last good configuration stays in force for ${graceMs / 1000} s.`,
  fix: 'Put it back, or wait until its removal takes effect.',
});

/** Names the servers that a vanished file takes with it. */
function goneWithServers(file: string, before: Config, { servers }: Config): Problem {
  const lost = [...before.servers.values()].filter(({ name, at }) => at?.file === file && !servers.has(name));
  const names = lost.map(({ name }) => name).join(', ');
  const effect = lost.length === 0 ? 'its settings are' : lost.length === 1 ? `${names} is` : `${names} are`;
  const message = `${file} is gone: ${effect} not used any more.`;
  return { level: 'warn', code: 'CONFIG_INVALID', message, fix: 'Put it back if this was not intended.' };
}

// Its consequence holds only for a configuration that is in force.
const withoutNotice = (problem: Problem): Problem => ({
  ...problem,
  message: problem.message.replace(` ${STRICT_NOTICE}`, ''),
});

function unreadable(thrown: unknown): Problem {
  const { message, fix } = HeddleError.from(thrown);
  return { level: 'error', code: 'CONFIG_INVALID', message: `The configuration cannot be read again: ${message}`, fix };
}
