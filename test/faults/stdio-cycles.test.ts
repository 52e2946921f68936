import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { queryObjects } from 'node:v8';
import { afterAll, expect, onTestFinished, vi } from 'vitest';
import type { StdioEntry } from '../../src/config/schema.ts';
import { NO_ABILITIES } from '../../src/core/abilities.ts';
import { openWatchdog } from '../../src/process/watchdog.ts';
import { connectStdio } from '../../src/upstream/connect-stdio.ts';
import { entryOf } from '../../src/upstream/fixtures.ts';
import { runningWith } from '../alive.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';

const CYCLES = process.env.HEDDLE_TEST_SCALE === 'full' ? 2000 : 200;
const AT_ONCE = 5;
const ROUNDS = 8;
const TINY = join(import.meta.dirname, '../servers/tiny-server.sh');
const watchdog = openWatchdog();
afterAll(() => watchdog.close());

function open(tag: string, ...ways: string[]) {
  const entry = entryOf<StdioEntry>({ command: '/bin/sh', args: [TINY, tag, ...ways] });
  const signal = new AbortController().signal;
  return connectStdio(
    entry,
    watchdog,
    {},
  )({
    server: 'tiny',
    signal,
    known: 'legacy',
    can: NO_ABILITIES,
    hear() {},
  });
}

const openFiles = () => readdirSync('/proc/self/fd').length;

function memory(): number {
  queryObjects(AbortSignal); // Collects all garbage.
  return process.memoryUsage.rss() / 1024 ** 2;
}

verifies(
  'F11',
  `${CYCLES} servers connected and closed leave no process, no open file and no memory`,
  async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {}); // Counting objects is called experimental.
    onTestFinished(() => void vi.restoreAllMocks());
    const tag = `cycle-${randomUUID()}`;
    const cycle = async () => {
      const connection = await open(tag);
      expect(await connection.list('tools', new AbortController().signal)).toHaveLength(1);
      await connection.close();
    };
    await cycle();
    const files = openFiles();
    const grown: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const share = Array.from({ length: AT_ONCE }, async () => {
        for (let at = 0; at < CYCLES / ROUNDS / AT_ONCE; at++) await cycle();
      });
      await Promise.all(share);
      grown.push(memory());
    }
    await until('no process is left', () => runningWith(tag).length === 0, 1000);
    await until('no file is open', () => openFiles() <= files, 1000);
    const [second = 0, last = 0] = [grown[1], grown.at(-1)];
    expect(last - second, `memory by round: ${grown.map(Math.round)} MB`).toBeLessThan(12);
  },
  300_000,
);

verifies('T4', 'closing twenty stubborn servers together takes hardly longer than closing one', async () => {
  const tag = `stubborn-${randomUUID()}`;
  const timed = async (count: number) => {
    const connections = await Promise.all(Array.from({ length: count }, () => open(tag, 'stubborn')));
    const startedAt = performance.now();
    await Promise.all(connections.map((connection) => connection.close()));
    return performance.now() - startedAt;
  };
  const one = await timed(1);
  expect(one).toBeGreaterThan(400); // It had to be killed.
  expect(await timed(20)).toBeLessThan(3 * one); // One after the other they would take twenty times as long.
  await until('no process is left', () => runningWith(tag).length === 0, 1000);
});
