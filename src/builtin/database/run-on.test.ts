import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Connections } from './connections.ts';
import type { Database, StatementOptions } from './database.ts';
import { rowsOn, type ToolOptions } from './run-on.ts';

/** Returns tools whose database takes `openingMs` to open, on a clock that only the test moves. */
function slowToOpen(openingMs: number) {
  let now = 1000;
  const connections = {
    use: (_name, _options, work) => {
      now += openingMs;
      return work({} as Database);
    },
  } as Connections;
  const tools: ToolOptions = { connections, queryTimeoutMs: 30_000, maxRows: 10, clock: () => now };
  const pass = (ms: number) => {
    now += ms;
  };
  return { tools, pass };
}

const request = { connection: 'a', signal: new AbortController().signal };

verifies(
  'B2',
  'a slow opening shortens the time of the statement, so that its error precedes the deadline',
  async () => {
    for (const [openingMs, timeoutMs] of [
      [0, 30_000],
      [1500, 30_000],
      [4000, 27_500],
      [30_000, 1500],
    ] as const) {
      const { tools } = slowToOpen(openingMs);
      const got: StatementOptions[] = [];
      await rowsOn(tools, request, async (_database, run) => {
        got.push(run);
        return { columns: [], rows: [], truncated: false };
      });
      expect(got).toMatchObject([{ timeoutMs, maxRows: 10, maxBytes: 5 * 1024 * 1024 }]);
    }
  },
);

verifies('B2', 'reports the time of the whole call, and says when rows are missing', async () => {
  const { tools, pass } = slowToOpen(20);
  const result = await rowsOn(tools, request, async () => {
    pass(22.4);
    return { columns: [{ name: 'id', type: 'int' }], rows: [[1]], truncated: true };
  });
  expect(result).toMatchObject({
    structuredContent: { rows: [{ id: 1 }], rowCount: 1, truncated: true, durationMs: 42 },
  });
  // One text, so that the command line prints valid JSON.
  expect(result.content).toHaveLength(1);
});
