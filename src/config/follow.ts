import { isAbsolute } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { HeddleError } from '../core/errors.ts';
import type { Config, Problem } from './config.ts';
import { watchFiles } from './watch.ts';

export interface FollowOptions {
  readonly first: Config;
  readonly read: () => Promise<Config>;
  /** Further files whose change gives another configuration. */
  readonly also: readonly string[];
  /** Given each new configuration that can be used. */
  readonly apply: (config: Config) => void;
  readonly onProblems: (problems: readonly Problem[]) => void;
}

/** Reads the configuration again when its files change. A file that became unreadable leaves the last good one in force. */
export function followConfig({ first, read, also, apply, onProblems }: FollowOptions): { close(): void } {
  const readable = new Set<string>();
  let reading: Promise<void> = Promise.resolve();
  let closed = false;
  let told = new Set(first.problems.map(({ message }) => message));

  function note({ files, refreshed }: Config): void {
    const paths = files.map(({ file }) => file).filter(isAbsolute); // Not variables, nor addresses.
    watch.follow([...paths, ...also]);
    for (const { file, state } of files) if (state === 'found') readable.add(file);
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
      const ruined = config.files.find(({ file, state }) => state === 'broken' && readable.has(file));
      const more = ruined ? [stillInForce(ruined.file)] : atNextStart(first, config);
      tell([...config.problems, ...more]);
      note(config);
      if (!ruined) apply(config);
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
    },
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

function unreadable(thrown: unknown): Problem {
  const { message, fix } = HeddleError.from(thrown);
  return { level: 'error', code: 'CONFIG_INVALID', message: `The configuration cannot be read again: ${message}`, fix };
}
