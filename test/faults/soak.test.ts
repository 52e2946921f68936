import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { queryObjects } from 'node:v8';
import { expect, onTestFinished, vi } from 'vitest';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import { expectGrowth, residentMegabytes } from '../limits.ts';
import { verifies } from '../requirements.ts';

const CALLS = process.env.HEDDLE_TEST_SCALE === 'full' ? 100_000 : 10_000;
const BATCHES = 8;

interface Load {
  readonly done: number;
  readonly wrong: number;
}

interface Leftovers {
  /** Open handles and timers by kind, and process listeners. */
  readonly open: Readonly<Record<string, number>>;
  /** Living objects that a forgotten listener would hold. V8 drops unused compiled functions and makes new ones, so functions vary by about 60. */
  readonly objects: Readonly<Record<string, number>>;
}

function leftovers(): Leftovers {
  const open: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) open[kind] = (open[kind] ?? 0) + 1;
  open.listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
  const objects = {
    functions: queryObjects(Function, { format: 'count' }),
    signals: queryObjects(AbortSignal, { format: 'count' }),
    promises: queryObjects(Promise, { format: 'count' }),
  };
  return { open, objects };
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

async function run(load: ChildProcess, calls: number): Promise<Load> {
  load.send(calls);
  const [result] = await once(load, 'message');
  return result as Load;
}

verifies(
  'F11',
  `leaves no listener, timer or handle after ${CALLS} calls through one gateway, and memory stays flat`,
  async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {}); // `queryObjects` emits an experimental warning.
    onTestFinished(() => void vi.restoreAllMocks());
    const odd = { command: process.execPath, args: [join(import.meta.dirname, '../servers/odd-tools.mjs')] };
    const { url } = await gatewayUnderTest({ servers: { odd } });
    const load = fork(join(import.meta.dirname, 'load.mjs'), [url, TOKEN, 'mcp__odd__plain'], { execArgv: [] });
    onTestFinished(() => void load.kill('SIGKILL'));

    const rss: number[] = [];
    const total = { done: 0, wrong: 0 };
    const counts: Leftovers[] = [];
    for (let batch = 1; batch <= BATCHES; batch++) {
      const { done, wrong } = await run(load, CALLS / BATCHES);
      total.done += done;
      total.wrong += wrong;
      counts.push(leftovers()); // Also collects garbage, so that RSS shows the memory in use.
      rss.push(residentMegabytes());
    }
    expectNoGrowth(counts);
    expect(total).toEqual({ done: CALLS, wrong: 0 });
    const quarter = BATCHES / 4;
    const second = mean(rss.slice(quarter, 2 * quarter));
    const last = mean(rss.slice(-quarter));
    expectGrowth(last - second, Math.max(12, second * 0.15), `memory by batch: ${rss.map(Math.round)} MB`);
  },
  300_000,
);

/** Fails when the counts grew in every batch. A leak of one object per call adds 1,250 or more to each batch. */
function expectNoGrowth(counts: readonly Leftovers[]): void {
  const many = CALLS / BATCHES / 100;
  for (const kind of ['functions', 'signals', 'promises']) {
    const series = counts.map(({ objects }) => objects[kind] ?? 0);
    const smallest = Math.min(...series.slice(1).map((count, i) => count - (series[i] ?? 0)));
    expect(smallest, `${kind} by batch: ${series}`).toBeLessThan(many);
  }
  const early = counts[BATCHES / 4 - 1]?.open ?? {};
  for (const [kind, count] of Object.entries(counts.at(-1)?.open ?? {})) {
    expect(count - (early[kind] ?? 0), `open ${kind}`).toBeLessThanOrEqual(5);
  }
}
