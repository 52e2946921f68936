import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type Behaviour, recordingServer, text } from '../../../test/servers/recording-server.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { type GatewayUnderTest, gatewayUnderTest, JSON_HEADERS } from '../fixtures.ts';

async function sessionOf({ post }: GatewayUnderTest, protocolVersion: string) {
  const { headers } = await post({ id: 0, method: 'initialize', params: { protocolVersion } });
  return { ...JSON_HEADERS, 'mcp-session-id': String(headers['mcp-session-id']) };
}

const ping = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'ping' });
const messagesIn = (body: string): JsonObject[] =>
  body.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));

describe('a batch', () => {
  verifies('P6', 'of a 2025-03-26 session gets one response per request', async () => {
    const server = recordingServer({ echo: ({ word }) => text(String(word)) });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const headers = await sessionOf(gateway, '2025-03-26');
    const call = (id: number) => ({
      ...ping(id),
      method: 'tools/call',
      params: { name: 'mcp__up__echo', arguments: { word: `for ${id}` } },
    });
    const batch = [
      ping('a'),
      call(1),
      call(2),
      ping(null),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { ...ping(3), method: 'initialize' },
    ];
    const response = await gateway.send({ headers, body: JSON.stringify(batch) });
    expect([response.status, response.headers['content-type']]).toEqual([200, 'text/event-stream']);
    const error = { code: -32600, message: expect.stringMatching(/\w/) };
    const expected = [
      { jsonrpc: '2.0', id: 'a', result: {} },
      { jsonrpc: '2.0', id: 1, result: text('for 1') },
      { jsonrpc: '2.0', id: 2, result: text('for 2') },
      { jsonrpc: '2.0', id: null, error },
      { jsonrpc: '2.0', id: 3, error },
    ];
    expect(messagesIn(response.text)).toHaveLength(expected.length);
    expect(messagesIn(response.text)).toEqual(expect.arrayContaining(expected));
  });

  verifies('P6', 'of notifications only gets 202 and no body', async () => {
    const gateway = await gatewayUnderTest();
    const headers = await sessionOf(gateway, '2025-03-26');
    const body = JSON.stringify(Array(3).fill({ jsonrpc: '2.0', method: 'notifications/initialized' }));
    expect(await gateway.send({ headers, body })).toMatchObject({ status: 202, text: '' });
  });

  verifies('P6', 'carries progress, and one of its requests can be cancelled', async () => {
    const wait: Behaviour = (_, { progress }) => {
      progress({ progress: 1 });
      return new Promise(() => {});
    };
    const server = recordingServer({ wait, soon: () => text('soon') });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const headers = await sessionOf(gateway, '2025-03-26');
    const call = (id: number, name: string, _meta = {}) => ({
      ...ping(id),
      method: 'tools/call',
      params: { name: `mcp__up__${name}`, arguments: {}, _meta },
    });
    const batch = [call(1, 'wait', { progressToken: 'p' }), call(2, 'soon')];
    const response = gateway.send({ headers, body: JSON.stringify(batch) });
    await until('both calls have arrived', () => server.calls.length === 2);
    await gateway.post({ method: 'notifications/cancelled', params: { requestId: 1 } }, headers);
    expect(messagesIn((await response).text)).toEqual(
      expect.arrayContaining([
        { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1, progressToken: 'p' } },
        { jsonrpc: '2.0', id: 2, result: text('soon') },
      ]),
    );
    await until('the other is cancelled', () => server.cancelled.length === 1);
  });

  it.each([
    ['of a 2025-06-18 session', '2025-06-18', [ping(1)]],
    ['without messages', '2025-03-26', []],
    ['of 101 messages', '2025-03-26', Array(101).fill(ping(1))],
  ])('P6: %s is refused', async (_, version, batch) => {
    const gateway = await gatewayUnderTest();
    const { status, json } = await gateway.send({
      headers: await sessionOf(gateway, version),
      body: JSON.stringify(batch),
    });
    expect([status, (json.error as JsonObject).code]).toEqual([400, -32600]);
  });
});
