import { expect } from 'vitest';
import type { HeddleClient, JsonObject } from '../../src/index.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { temporaryFolder, temporaryHeddleClient } from '../temporary-heddle.ts';

const takes = (...names: string[]) => ({
  inputSchema: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) },
});

/** Opens Heddle with two in-process servers of one pool, each with its entry. */
async function opened(entries: { readonly left?: JsonObject; readonly right?: JsonObject } = {}, folder?: string) {
  const cwd = folder ?? (await temporaryFolder());
  const left = recordingServer({ search: () => text('left') }, () => takes('query'));
  const right = recordingServer({ find: () => text('right') }, () => takes('q'));
  const equivalent = { tool: 'search', rename: { query: 'q' } };
  const entryOf = (name: string, more: JsonObject = {}) => ({ type: 'sdk', name, pool: 'web', ...more });
  const heddle = await temporaryHeddleClient({
    folder: cwd,
    servers: {
      'left-program': left,
      'right-program': right,
      left: entryOf('left-program', entries.left),
      right: { ...entryOf('right-program', entries.right), tools: { find: { equivalent } } },
    },
  });
  await heddle.tools();
  return { heddle, left, right, folder: cwd };
}

const search = (heddle: HeddleClient, options = {}) => heddle.call('mcp__web__search', { query: 'looms' }, options);
const metricsOf = async (heddle: HeddleClient, server: string) =>
  (await heddle.servers.list()).find(({ name }) => name === server)?.metrics;

verifies('R3', 'calls the pool server with the highest priority and passes its result unchanged', async () => {
  const { heddle, left, right } = await opened({ right: { priority: 1 } });
  expect((await heddle.tools()).find(({ name }) => name === 'mcp__web__search')?.servers).toEqual(['right', 'left']);
  expect((await search(heddle)).server).toBe('right');
  expect((await search(heddle, { preferredServer: 'left' })).server).toBe('left');
  expect(right.calls).toMatchObject([{ name: 'find', arguments: { q: 'looms' } }]);
  expect(left.calls).toMatchObject([{ name: 'search', arguments: { query: 'looms' } }]);
});

verifies('G5', 'calls another server of the pool when one has reached its rate limit', async () => {
  const limits = { maxCalls: 1, windowMs: 600_000 };
  const { heddle } = await opened({ left: { limits, priority: 1 }, right: { limits } });
  expect([(await search(heddle)).server, (await search(heddle)).server]).toEqual(['left', 'right']);
  await expect(search(heddle)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await expect(heddle.call('mcp__left__search', {})).rejects.toMatchObject({ code: 'RATE_LIMITED' });
});

verifies('R5', 'shows the call statistics of servers, also after a restart', async () => {
  const { heddle, folder } = await opened({ left: { priority: 1 } });
  await search(heddle);
  await search(heddle);
  const metrics = await metricsOf(heddle, 'left');
  expect(metrics).toMatchObject({ totalCalls: 2, successRate: 1, errorCount: 0, toolErrors: 0 });
  expect(metrics?.avgLatencyMs).toBeGreaterThan(0);
  expect(metrics?.lastCallTime).toBeGreaterThan(0);
  expect(await metricsOf(heddle, 'right')).toMatchObject({ totalCalls: 0, successRate: 1 });
  await heddle.close();
  const again = await opened({}, folder);
  expect(await metricsOf(again.heddle, 'left')).toEqual(metrics);
});
