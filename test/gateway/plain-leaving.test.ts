import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Caller } from '../../src/core/call.ts';
import { gatewayUnderTest } from '../../src/gateway/fixtures.ts';
import { rawClient } from '../raw-client.ts';
import { calling, posting } from '../raw-requests.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { until } from '../until.ts';

async function lined(setting: Parameters<typeof gatewayUnderTest>[0]) {
  const gateway = await gatewayUnderTest(setting);
  return { gateway, client: await rawClient(gateway) };
}

verifies('F6', 'a call is not made for a client that left while it was looked up who it is', async () => {
  const server = recordingServer({ pay: () => text('paid') });
  const asked = Promise.withResolvers<void>();
  const known = Promise.withResolvers<Caller>();
  const authenticate = () => {
    asked.resolve();
    return known.promise;
  };
  const { client, gateway } = await lined({ servers: { up: server }, authenticate });
  client.socket.write(calling('pay'));
  await asked.promise;
  client.socket.destroy();
  await until('it has left', () => client.socket.closed);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  known.resolve({ id: 'owner', roles: ['owner'], via: 'gateway' });
  await gateway.close();
  expect(server.calls).toEqual([]);
});

verifies('P1', 'a call is not made when it comes after the last answer of its line', async () => {
  const server = recordingServer({ pay: () => text('paid') });
  const { client, gateway } = await lined({ servers: { up: server } });
  client.socket.write(posting({}, { 'content-type': 'text/plain' }) + calling('pay'));
  await until('the line is closed', () => client.socket.readableEnded);
  expect(client.text()).toMatch(/^HTTP\/1.1 415 .*connection: close/s);
  await gateway.close();
  expect(server.calls).toEqual([]);
});
