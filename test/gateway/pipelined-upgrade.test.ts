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

/** Sent together with an upgrade behind it. */
const FIRST: readonly (readonly [string, string, number])[] = [
  ['asks for health', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n', 200],
  ['goes to another host', 'GET /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n', 403],
  ['shows no token', 'GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n', 401],
];

for (const [what, first, status] of FIRST) {
  verifies('P1', `an upgrade behind a request that ${what} ends the connection, and nothing else`, async () => {
    const gateway = await gatewayUnderTest();
    const client = await rawClient(gateway);
    client.socket.write(first + UPGRADE);
    expect((await client.ended()).map((answer) => answer.status)).toEqual([status]);
    expect((await gateway.post({ id: 1, method: 'ping' })).status).toBe(200);
  });
}

verifies('F6', 'a client that leaves after an upgrade it may not have cancels the call before it', async () => {
  const gate = Promise.withResolvers<never>();
  const server = recordingServer({ wait: () => gate.promise });
  const client = await rawClient(await gatewayUnderTest({ servers: { up: server } }));
  client.socket.write(calling('wait', { te: 'trailers' }) + UPGRADE);
  await until('it is called', () => server.calls.length === 1);
  client.socket.destroy();
  await until('it is cancelled', () => server.cancelled.length === 1);
});

it('an upgrade behind a call that Node reads lets that call be answered', async () => {
  const server = recordingServer({ say: () => text('hello') });
  const client = await rawClient(await gatewayUnderTest({ servers: { up: server } }));
  client.socket.write(calling('say', { te: 'trailers' }) + UPGRADE);
  const answers = await client.ended();
  expect(answers.map(({ status, body }) => [status, body.includes('hello')])).toEqual([[200, true]]);
});
