import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Config, Problem, ServerConfig, SourceFile } from './config.ts';
import { followConfig } from './follow-config.ts';
import { STRICT_NOTICE } from './read/strict-by-error.ts';
import { defaultSettings } from './schema/default-settings.ts';
import { versionNow } from './watch-files.ts';

const GRACE_MS = 5000;
const FILE = '/nowhere/heddle.json';
const OTHER = '/nowhere/.mcp.json';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const serverIn = (file: string): ServerConfig => ({
  name: `of-${file}`,
  scope: 'project',
  at: { file, line: 1, column: 1 },
  shadowed: [],
});
const BROKEN: Problem = {
  level: 'error',
  code: 'CONFIG_INVALID',
  message: `It is broken. ${STRICT_NOTICE}`,
  fix: 'Correct it.',
};

/** Follows a configuration. The test sets the states of its files and triggers reads. */
function follow(found: readonly string[], also: ReadonlyMap<string, string> = new Map()) {
  let states: ReadonlyMap<string, SourceFile['state']> = new Map(found.map((file) => [file, 'found']));
  let change = Promise.withResolvers<boolean>();
  const applied: string[] = [];
  const messages: string[] = [];
  const config = (): Config => ({
    projectFolder: '/nowhere',
    files: [...states].map(([file, state]) => ({ file, scope: 'project', state })),
    servers: new Map(
      [...states].flatMap(([file, state]) => (state === 'found' ? [[`of-${file}`, serverIn(file)] as const] : [])),
    ),
    dropped: [],
    settings: defaultSettings('/nowhere'),
    origins: new Map(),
    problems: [...states.values()].includes('broken') ? [BROKEN] : [],
    refreshed: change.promise,
    untrusted: [],
  });
  const namesOf = ({ files }: Config) =>
    files.flatMap(({ file, state }) => (state === 'found' ? [file] : [])).join(' ');
  const { close } = followConfig({
    first: config(),
    read: async () => config(),
    also,
    apply: (next) => applied.push(namesOf(next)),
    onProblems: (problems) => messages.push(...problems.map(({ message }) => message)),
    graceMs: GRACE_MS,
  });
  /** Sets the states of the files; other files are no longer listed. */
  async function becomes(next: Readonly<Record<string, SourceFile['state']>>): Promise<void> {
    states = new Map(Object.entries(next));
    const { resolve } = change;
    change = Promise.withResolvers();
    resolve(true);
    await vi.advanceTimersByTimeAsync(0);
  }
  return { becomes, applied, messages, close };
}

const stays = expect.stringContaining('the last good configuration stays in force for 5 s');

verifies('C13', 'keeps the last good configuration for 5 s after a file vanished, with a warning', async () => {
  const { becomes, applied, messages, close } = follow([FILE]);
  await becomes({ [FILE]: 'absent' });
  await vi.advanceTimersByTimeAsync(GRACE_MS - 1);
  expect([applied, messages]).toEqual([[], [stays]]);
  await vi.advanceTimersByTimeAsync(1);
  expect(applied).toEqual(['']);
  expect(messages.slice(1)).toEqual([`${FILE} is gone: of-${FILE} is not used any more.`]);
  close();
});

verifies(
  'C13',
  'does not announce mode strict for a broken file while the last good configuration is in force',
  async () => {
    const { becomes, applied, messages, close } = follow([FILE]);
    await becomes({ [FILE]: 'broken' });
    expect(messages).toEqual(['It is broken.', expect.stringContaining('the last good configuration stays in force')]);
    expect(applied).toEqual([]);
    close();
  },
);

verifies('C13', 'applies a file that comes back within the grace period at once', async () => {
  const { becomes, applied, messages, close } = follow([FILE]);
  await becomes({ [FILE]: 'absent' });
  await vi.advanceTimersByTimeAsync(40);
  await becomes({ [FILE]: 'found' });
  expect(applied).toEqual([FILE]);
  await vi.advanceTimersByTimeAsync(2 * GRACE_MS);
  expect(applied).toEqual([FILE]);
  await becomes({ [FILE]: 'absent' });
  expect([applied, messages]).toEqual([[FILE], [stays, stays]]);
  close();
});

it('does not start the grace period again when another file changes', async () => {
  const { becomes, applied, close } = follow([FILE, OTHER]);
  await becomes({ [FILE]: 'absent', [OTHER]: 'found' });
  await vi.advanceTimersByTimeAsync(GRACE_MS - 1);
  await becomes({ [FILE]: 'absent', [OTHER]: 'found' });
  expect(applied).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(applied).toEqual([OTHER]);
  await becomes({ [FILE]: 'absent', [OTHER]: 'found' });
  expect(applied.length).toBeGreaterThan(1);
  expect(new Set(applied)).toEqual(new Set([OTHER]));
  close();
});

it('grants the grace period to a file that is no longer listed, such as a plugin or heddle.json', async () => {
  const { becomes, applied, messages, close } = follow([FILE, OTHER]);
  await becomes({ [OTHER]: 'found' });
  expect([applied, messages]).toEqual([[], [stays]]);
  await becomes({ [OTHER]: 'found', [FILE]: 'found' });
  expect(applied).toEqual([`${OTHER} ${FILE}`]);
  close();
});

it('grants no grace period to a file that never existed, nor to an address', async () => {
  const { becomes, applied, close } = follow([FILE, 'https://connector.test/']);
  await becomes({ [FILE]: 'found', [OTHER]: 'absent' });
  expect(applied).toEqual([FILE]);
  close();
});

verifies('C13', 'reads again when another file changed between the first read and the start of the watch', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-follow-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const trust = join(folder, 'trust.json');
  const before = await versionNow(trust);
  await writeFile(trust, '{}');
  vi.useRealTimers(); // The watch reads real files.
  const { applied, close } = follow([FILE], new Map([[trust, before]]));
  await expect.poll(() => applied).toEqual([FILE]);
  close();
});

it('clears its timers when it is closed', async () => {
  const { becomes, close } = follow([FILE]);
  await becomes({ [FILE]: 'absent' });
  close();
  expect(vi.getTimerCount()).toBe(0);
});
