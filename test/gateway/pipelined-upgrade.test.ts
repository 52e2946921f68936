import { expect, it } from 'vitest';
import { gatewayUnderTest } from '../../src/gateway/fixtures.ts';
import { rawClient } from '../raw-client.ts';
import { calling, requestOf } from '../raw-requests.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { until } from '../until.ts';

const UPGRADE = requestOf('GET', {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
});

/** Requests that are sent together with an upgrade behind them. */
const FIRST: readonly (readonly [string, string, number])[] = [
  ['requests /healthz', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n', 200],
  ['names another host', 'GET /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n', 403],
  ['has no token', 'GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n', 401],
];

for (const [what, first, status] of FIRST) {
  verifies('P1', `an upgrade pipelined behind a request that ${what} gets no response`, async () => {
    const gateway = await gatewayUnderTest();
    const client = await rawClient(gateway);
    client.socket.write(first + UPGRADE);
    expect((await client.ended()).map((response) => response.status)).toEqual([status]);
    expect((await gateway.post({ id: 1, method: 'ping' })).status).toBe(200);
  });
}

verifies('F6', 'a client that disconnects after a pipelined upgrade cancels the call before it', async () => {
  const gate = Promise.withResolvers<never>();
  const server = recordingServer({ wait: () => gate.promise });
  const client = await rawClient(await gatewayUnderTest({ servers: { up: server } }));
  client.socket.write(calling('wait', { te: 'trailers' }) + UPGRADE);
  await until('it is called', () => server.calls.length === 1);
  client.socket.destroy();
  await until('it is cancelled', () => server.cancelled.length === 1);
});

it('a call before a pipelined upgrade is answered', async () => {
  const server = recordingServer({ greet: () => text('hello') });
  const client = await rawClient(await gatewayUnderTest({ servers: { up: server } }));
  client.socket.write(calling('greet', { te: 'trailers' }) + UPGRADE);
  const responses = await client.ended();
  expect(responses.map(({ status, body }) => [status, body.includes('hello')])).toEqual([[200, true]]);
});
