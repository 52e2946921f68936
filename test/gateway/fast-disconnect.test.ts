import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Caller } from '../../src/core/call.ts';
import { gatewayUnderTest } from '../../src/gateway/fixtures.ts';
import { rawClient } from '../raw-client.ts';
import { calling, posting } from '../raw-requests.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { until } from '../until.ts';

async function connected(setting: Parameters<typeof gatewayUnderTest>[0]) {
  const gateway = await gatewayUnderTest(setting);
  return { gateway, client: await rawClient(gateway) };
}

verifies('F6', 'does not call for a client that disconnected during authentication', async () => {
  const server = recordingServer({ pay: () => text('paid') });
  const authenticating = Promise.withResolvers<void>();
  const caller = Promise.withResolvers<Caller>();
  const authenticate = () => {
    authenticating.resolve();
    return caller.promise;
  };
  const { client, gateway } = await connected({ servers: { up: server }, authenticate });
  client.socket.write(calling('pay'));
  await authenticating.promise;
  client.socket.destroy();
  await until('it has disconnected', () => client.socket.closed);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  caller.resolve({ id: 'owner', roles: ['owner'], via: 'gateway' });
  await gateway.close();
  expect(server.calls).toEqual([]);
});

verifies('P1', 'does not call for a request behind the last response of its connection', async () => {
  const server = recordingServer({ pay: () => text('paid') });
  const { client, gateway } = await connected({ servers: { up: server } });
  client.socket.write(posting({}, { 'content-type': 'text/plain' }) + calling('pay'));
  await until('the connection is closed', () => client.socket.readableEnded);
  expect(client.text()).toMatch(/^HTTP\/1.1 415 .*connection: close/s);
  await gateway.close();
  expect(server.calls).toEqual([]);
});
