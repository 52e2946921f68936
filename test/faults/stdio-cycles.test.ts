import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { queryObjects } from 'node:v8';
import { afterAll, expect, onTestFinished, vi } from 'vitest';
import type { StdioEntry } from '../../src/config/schema/schema.ts';
import { NO_CAPABILITIES } from '../../src/core/call/client-capabilities.ts';
import { openWatchdog } from '../../src/process/watchdog.ts';
import { entryOf } from '../../src/upstream/fixtures.ts';
import { connectStdio } from '../../src/upstream/transports/connect-stdio.ts';
import { runningWith } from '../alive.ts';
import { expectGrowth, residentMegabytes, within } from '../limits.ts';
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
    capabilities: NO_CAPABILITIES,
    onNotification() {},
  });
}

const openFiles = () => readdirSync('/proc/self/fd').length;

function memory(): number {
  queryObjects(AbortSignal); // Collects all garbage.
  return residentMegabytes();
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
    await until('no process is left', () => runningWith(tag).length === 0);
    await until('no file is open', () => openFiles() <= files);
    const [second = 0, last = 0] = [grown[1], grown.at(-1)];
    expectGrowth(last - second, 12, `memory by round: ${grown.map(Math.round)} MB`);
  },
  300_000,
);

verifies('T4', 'closing twenty stubborn servers together takes hardly longer than closing one', async () => {
  const tag = `stubborn-${randomUUID()}`;
  const connections = await Promise.all(Array.from({ length: 20 }, () => open(tag, 'stubborn')));
  // Each of them takes half a second. One after the other they would take ten seconds.
  await within(2000, () => Promise.all(connections.map((connection) => connection.close())));
  await until('no process is left', () => runningWith(tag).length === 0);
});
