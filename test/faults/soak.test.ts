import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { queryObjects } from 'node:v8';
import { expect, onTestFinished, vi } from 'vitest';
import { gatewayUnderTest, TOKEN } from '../../src/gateway/fixtures.ts';
import { expectGrowth, residentMegabytes } from '../limits.ts';
import { verifies } from '../requirements.ts';

const CALLS = process.env.HEDDLE_TEST_SCALE === 'full' ? 100_000 : 10_000;
const ROUNDS = 8;

interface Load {
  readonly done: number;
  readonly wrong: number;
}

/** What a call could leave behind: open handles and timers by kind, and everything that a forgotten listener would hold. */
function leftovers(): Record<string, number> {
  const handles: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1;
  return {
    ...handles,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    functions: queryObjects(Function, { format: 'count' }),
    signals: queryObjects(AbortSignal, { format: 'count' }),
    promises: queryObjects(Promise, { format: 'count' }),
  };
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

async function run(load: ChildProcess, calls: number): Promise<Load> {
  load.send(calls);
  const [answer] = await once(load, 'message');
  return answer as Load;
}

verifies(
  'F11',
  `${CALLS} calls through one gateway leave no listener, timer or handle, and its memory stays flat`,
  async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {}); // Counting objects is called experimental.
    onTestFinished(() => void vi.restoreAllMocks());
    const odd = { command: process.execPath, args: [join(import.meta.dirname, '../servers/odd-tools.mjs')] };
    const { url } = await gatewayUnderTest({ servers: { odd } });
    const load = fork(join(import.meta.dirname, 'load.mjs'), [url, TOKEN, 'mcp__odd__plain'], { execArgv: [] });
    onTestFinished(() => void load.kill('SIGKILL'));

    const rss: number[] = [];
    const total = { done: 0, wrong: 0 };
    let early: Record<string, number> = {};
    for (let round = 1; round <= ROUNDS; round++) {
      const { done, wrong } = await run(load, CALLS / ROUNDS);
      total.done += done;
      total.wrong += wrong;
      if (round === ROUNDS / 4) early = leftovers();
      if (round === ROUNDS) expectNoGrowth(early, leftovers());
      queryObjects(AbortSignal); // Collects all garbage; else memory would say how lazy the collector is, not what is kept.
      rss.push(residentMegabytes());
    }
    expect(total).toEqual({ done: CALLS, wrong: 0 });
    const quarter = ROUNDS / 4;
    const second = mean(rss.slice(quarter, 2 * quarter));
    const last = mean(rss.slice(-quarter));
    expectGrowth(last - second, Math.max(12, second * 0.15), `memory by round: ${rss.map(Math.round)} MB`);
  },
  300_000,
);

/** Three quarters of all calls lie between: what each of them left behind would be thousands. */
function expectNoGrowth(early: Record<string, number>, late: Record<string, number>): void {
  const { functions: manyBefore = 0, signals: signalsBefore = 0, promises: promisesBefore = 0, ...before } = early;
  const { functions = 0, signals = 0, promises = 0, ...after } = late;
  const few = CALLS / 100;
  expect(functions - manyBefore).toBeLessThan(few);
  expect(signals - signalsBefore).toBeLessThan(few);
  expect(promises - promisesBefore).toBeLessThan(few);
  for (const [kind, count] of Object.entries(after)) {
    expect(count - (before[kind] ?? 0), `open ${kind}`).toBeLessThanOrEqual(5);
  }
}
