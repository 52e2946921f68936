import { expect, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { recordingServer } from '../../../test/servers/recording-server.ts';
import { serveTools } from '../../builtin/serve-tools.ts';
import type { Facts } from '../../core/call/facts.ts';
import { OUTCOME_META } from '../../core/call/repeatable.ts';
import type { JsonObject } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import { aCall, aTarget } from '../../core/fixtures.ts';
import { withoutReserved } from '../../gateway/reserved-meta.ts';
import { connectInMemory } from '../../upstream/transports/connect-in-memory.ts';
import { openWorld, someMetrics } from '../fixtures.ts';
import { invoke } from './invoke.ts';

const LOST: JsonObject = {
  isError: true,
  content: [{ type: 'text', text: 'The connection was lost after COMMIT was sent.' }],
  _meta: { [OUTCOME_META]: 'unknown' },
};

/** Opens two servers whose tool always returns one result, and counts its calls. */
async function opened(result: JsonObject, facts: Partial<Facts>) {
  const reached: string[] = [];
  const serving = (name: string) => ({
    connect: (transport: Parameters<typeof serveTools>[0]) =>
      serveTools(transport, {
        name,
        version: '1',
        tools: [
          {
            definition: { name: 'act', inputSchema: { type: 'object' } },
            async run() {
              reached.push(name);
              return result;
            },
          },
        ],
      }),
  });
  const world = await openWorld({ a: serving('a'), b: serving('b') });
  const send = invoke({ servers: world.servers, metrics: someMetrics() });
  const target = aTarget({ publicName: 'mcp__p__act', servers: ['a', 'b'], name: 'act', facts });
  return { reached, send: () => send(aCall({ target, name: 'p.act' })) };
}

verifies(
  'B2',
  'reports the unknown outcome of a built-in tool as OUTCOME_UNKNOWN, and calls no other server',
  async () => {
    const { reached, send } = await opened(LOST, { builtin: true });
    await expect(send()).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message:
        'The connection was lost after COMMIT was sent. mcp__p__act may have happened or not; it was not repeated.',
      details: { server: 'a' },
    });
    expect(reached).toEqual(['a']);
  },
);

verifies('B2', 'does not repeat such a call of a tool that is idempotent, and opens no breaker', async () => {
  const { reached, send } = await opened(LOST, { builtin: true, idempotent: true });
  for (let calls = 0; calls < 8; calls++) await expect(send()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  expect(reached).toEqual(Array.from({ length: 8 }, () => 'a'));
});

verifies('B2', 'leaves other results of built-in tools as they are', async () => {
  const { _meta: _, ...known } = LOST;
  const { content } = known;
  for (const result of [known, { content }, { ...known, _meta: { [OUTCOME_META]: true } }] as JsonObject[]) {
    const { send } = await opened(result, { builtin: true });
    expect(await send()).toMatchObject({ kind: 'complete', value: { content } });
  }
});

verifies('C8', 'gives the same report of another server no effect, and hides it from clients', async () => {
  const { send } = await opened(LOST, { builtin: false });
  const result = await send();
  expect(result).toMatchObject({ kind: 'complete', isError: true });
  const value = result.kind === 'complete' ? result.value : {};
  expect(JSON.stringify(value)).toContain(OUTCOME_META);
  expect(JSON.stringify(withoutReserved(value))).not.toContain(OUTCOME_META);
});

verifies(
  'R4',
  'says that a tool which its server declares read-only is safe to repeat, and does not repeat it',
  async () => {
    const late = new UpstreamError('UPSTREAM_TIMEOUT', 'It took too long.', { delivered: 'maybe' });
    const sent = vi.fn(() => Promise.reject(late));
    const connect = connectInMemory(recordingServer({}).connect);
    const world = await openWorld({ a: async (options) => ({ ...(await connect(options)), send: sent }) });
    const send = invoke({ servers: world.servers, metrics: someMetrics() });
    const failing = (annotations: JsonObject) => {
      const definition = { name: 'act', inputSchema: { type: 'object' }, annotations };
      const target = aTarget({ publicName: 'mcp__a__act', servers: ['a'], name: 'act', definition });
      return send(aCall({ target, name: 'a.act' })).catch((thrown) => thrown);
    };
    expect(await failing({ readOnlyHint: true })).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringMatching(
        /not repeated\. a declares it read-only: if that is true, it is safe to repeat\.$/,
      ),
    });
    expect(sent).toHaveBeenCalledTimes(1);
    expect((await failing({ readOnlyHint: false })).message).toMatch(/it was not repeated\.$/);
  },
);
