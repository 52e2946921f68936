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
const BATCHES = 8;
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
  `leaves no process, open file or memory after ${CYCLES} servers were connected and closed`,
  async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {}); // `queryObjects` emits an experimental warning.
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
    for (let batch = 0; batch < BATCHES; batch++) {
      const share = Array.from({ length: AT_ONCE }, async () => {
        for (let at = 0; at < CYCLES / BATCHES / AT_ONCE; at++) await cycle();
      });
      await Promise.all(share);
      grown.push(memory());
    }
    await until('no process is left', () => runningWith(tag).length === 0);
    await until('no file is open', () => openFiles() <= files);
    const [second = 0, last = 0] = [grown[1], grown.at(-1)];
    expectGrowth(last - second, 12, `memory by batch: ${grown.map(Math.round)} MB`);
  },
  300_000,
);

verifies('T4', 'closes twenty stubborn servers in parallel, within two seconds', async () => {
  const tag = `stubborn-${randomUUID()}`;
  const connections = await Promise.all(Array.from({ length: 20 }, () => open(tag, 'stubborn')));
  // Each takes half a second; in sequence they would take ten seconds.
  await within(2000, () => Promise.all(connections.map((connection) => connection.close())));
  await until('no process is left', () => runningWith(tag).length === 0);
});
