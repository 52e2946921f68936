import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { MetricsBook, SavedMetrics } from '../../store/metrics-book.ts';
import { fakeTime } from '../../upstream/fixtures.ts';
import { openMetrics } from './metrics.ts';

function bookOf(saved: readonly SavedMetrics[] = [], present: readonly { name: string; signature: string }[] = []) {
  const added: (readonly SavedMetrics[])[] = [];
  const failures: Error[] = [];
  const book: MetricsBook = {
    all: async () => saved,
    async add(rows) {
      const failure = failures.pop();
      if (failure) throw failure;
      added.push(rows);
    },
  };
  const time = fakeTime();
  return { added, failures, time, metrics: openMetrics({ book, saved, present, timer: time.timer }) };
}

const NEW = { totalCalls: 0, successRate: 1, toolErrors: 0, errorCount: 0, avgLatencyMs: 0, lastCallTime: 0 };

verifies('R5', 'the success rate before the first call is 1, and reading creates no row', () => {
  const { metrics } = bookOf();
  expect([metrics.server('a'), metrics.tool('a', 't')]).toMatchObject([NEW, { ...NEW, successRate: 1 }]);
  expect(metrics.rows()).toEqual([]);
});

verifies('R5', 'failures lower the success rate; results with isError are counted separately', () => {
  const { metrics } = bookOf();
  const tally = metrics.of('a', 't');
  tally.answered(10, false, 1);
  tally.answered(10, true, 2);
  tally.failed(3);
  metrics.of('a', 'u').failed(4);
  const t = { totalCalls: 3, successRate: 1 - 1 / 3, toolErrors: 1, errorCount: 1, avgLatencyMs: 10, lastCallTime: 3 };
  const u = { ...NEW, totalCalls: 1, successRate: 0, errorCount: 1, lastCallTime: 4 };
  const whole = { totalCalls: 4, successRate: 0.5, toolErrors: 1, errorCount: 2, avgLatencyMs: 10, lastCallTime: 4 };
  expect(metrics.rows()).toEqual([
    { server: 'a', ...whole },
    { server: 'a', tool: 't', ...t },
    { server: 'a', tool: 'u', ...u },
  ]);
  expect(metrics.server('a')).toEqual(whole);
});

verifies('R5', 'the first result sets the latency, later results move it by a tenth, failures do not', () => {
  const tally = bookOf().metrics.of('a', 't');
  tally.failed(1);
  tally.answered(100, false, 2);
  expect(tally.avgLatencyMs).toBe(100);
  tally.answered(200, false, 3);
  tally.failed(4);
  expect(tally.avgLatencyMs).toBe(110);
});

verifies('R5', 'counts calls without a tool for the server only', () => {
  const { metrics } = bookOf();
  metrics.of('a', '').answered(1, false, 1);
  expect(metrics.rows()).toMatchObject([{ server: 'a', totalCalls: 1 }]);
});

verifies('R5', 'writes all new counts 10 s after the first of them', async () => {
  const { metrics, added, time } = bookOf();
  metrics.of('a', 't').answered(4, false, 1);
  time.pass(9_999);
  metrics.of('b', 't').failed(2);
  await metrics.close();
  expect(time.timers()).toBe(0);
  metrics.of('a', 't').answered(4, true, 3);
  time.pass(10_000);
  await expect.poll(() => added.length).toBe(2);
  await metrics.close();
  const [first, second, ...more] = added;
  expect(first?.map(({ server, tool, totalCalls }) => [server, tool, totalCalls])).toEqual([
    ['a', '', 1],
    ['a', 't', 1],
    ['b', '', 1],
    ['b', 't', 1],
  ]);
  expect(second).toMatchObject([
    { server: 'a', tool: '', totalCalls: 1, toolErrors: 1, errorCount: 0, avgLatencyMs: 4, lastCallTime: 3 },
    { server: 'a', tool: 't', totalCalls: 1, toolErrors: 1, errorCount: 0 },
  ]);
  expect(more).toEqual([]);
});

verifies('R5', 'writes counts again after a failed write', async () => {
  const { metrics, added, failures } = bookOf();
  metrics.of('a', 't').failed(1);
  failures.push(new Error('The disk is full.'));
  await metrics.close();
  expect(added).toEqual([]);
  metrics.of('a', 't').failed(2);
  await metrics.close();
  expect(added).toMatchObject([
    [
      { totalCalls: 2, errorCount: 2 },
      { tool: 't', totalCalls: 2 },
    ],
  ]);
});

verifies('R5', 'a new process continues from the saved counts and adds only its own', async () => {
  const saved = {
    server: 'a',
    signature: '',
    totalCalls: 9,
    toolErrors: 1,
    errorCount: 3,
    avgLatencyMs: 100,
    lastCallTime: 5,
  };
  const { metrics, added } = bookOf([
    { ...saved, tool: '' },
    { ...saved, tool: 't' },
  ]);
  expect(metrics.tool('a', 't').successRate).toBeCloseTo(2 / 3);
  metrics.of('a', 't').answered(200, false, 6);
  expect(metrics.server('a')).toMatchObject({ totalCalls: 10, errorCount: 3, avgLatencyMs: 110, lastCallTime: 6 });
  await metrics.close();
  const own = { totalCalls: 1, toolErrors: 0, errorCount: 0, avgLatencyMs: 110, lastCallTime: 6 };
  expect(added).toMatchObject([[own, { tool: 't', ...own }]]);
});

verifies('R3', 'the recent rate follows the newest calls and recovers with time', () => {
  const tally = bookOf().metrics.of('a', 't');
  for (let at = 0; at < 5; at++) tally.failed(at);
  expect(tally.recentRate(5)).toBeCloseTo(0.9 ** 5, 3);
  for (let at = 5; at < 50; at++) tally.answered(1, false, at);
  expect(tally.recentRate(50)).toBeGreaterThan(0.99);
  expect(tally.successRate).toBe(0.9);
  tally.failed(51);
  expect(tally.recentRate(51)).toBeCloseTo(0.9, 2);
  expect(tally.recentRate(51 + 300_000)).toBeCloseTo(0.95, 2);
});

verifies('R3', 'old failures are shown, but do not affect the recent rate', () => {
  const saved = {
    server: 'a',
    signature: '',
    tool: 't',
    totalCalls: 50,
    toolErrors: 0,
    errorCount: 5,
    avgLatencyMs: 1,
  };
  const tool = bookOf([{ ...saved, lastCallTime: 1000 }]).metrics.tool('a', 't');
  expect([tool.successRate, tool.recentRate(1000)]).toEqual([0.9, expect.closeTo(0.9)]);
  expect(tool.recentRate(1000 + 3_600_000)).toBeGreaterThan(0.999);
});

verifies(
  'R5',
  'a name that means another server starts at zero, and continues when it means the first again',
  async () => {
    const { metrics, added } = bookOf();
    const meet = (signature: string) =>
      metrics.meet([
        { name: 'a', signature },
        { name: 'b', signature: 'b' },
      ]);
    meet('first');
    metrics.of('a', 't').failed(1);
    metrics.of('b', 't').failed(1);
    meet('second');
    expect(metrics.rows().map(({ server }) => server)).toEqual(['b', 'b']);
    expect(metrics.server('a').totalCalls).toBe(0);
    metrics.of('a', 't').answered(1, false, 2);
    expect(metrics.server('a')).toMatchObject({ totalCalls: 1, errorCount: 0 });
    meet('first');
    expect(metrics.server('a')).toMatchObject({ totalCalls: 1, errorCount: 1 });
    await metrics.close();
    const tools = added.flat().filter(({ tool }) => tool === 't');
    expect(tools.map(({ server, signature, errorCount }) => [server, signature, errorCount])).toEqual([
      ['a', 'first', 1],
      ['a', 'second', 0],
      ['b', 'b', 1],
    ]);
  },
);

verifies('R5', 'a new process takes up the counts of the same command only, also of a server added later', () => {
  const counts = { tool: '', totalCalls: 9, toolErrors: 1, errorCount: 3, avgLatencyMs: 100, lastCallTime: 5 };
  const saved = [
    { ...counts, server: 'a', signature: 'old' },
    { ...counts, server: 'b', signature: 'same' },
    { ...counts, server: 'later', signature: 'same' },
  ];
  const present = [
    { name: 'a', signature: 'new' },
    { name: 'b', signature: 'same' },
  ];
  const { metrics } = bookOf(saved, present);
  expect(metrics.rows()).toMatchObject([{ server: 'b', totalCalls: 9 }]);
  expect(metrics.server('a').totalCalls).toBe(0);
  metrics.meet([...present, { name: 'later', signature: 'same' }]);
  expect(metrics.server('later').totalCalls).toBe(9);
});

verifies('R5', 'drops the counts of a server that was replaced 20 times since', () => {
  const { metrics } = bookOf();
  const replace = (place: number) => metrics.meet([{ name: 'a', signature: `s${place}` }]);
  for (let place = 0; place <= 20; place++) {
    replace(place);
    metrics.of('a', 't').answered(1, false, place);
  }
  const countOf = (place: number) => {
    replace(place);
    return metrics.server('a').totalCalls;
  };
  expect([0, 1, 20].map(countOf)).toEqual([0, 1, 1]);
});
