import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import type { Message } from '../../wire/json-rpc.ts';
import type { Transport } from '../../wire/transport.ts';
import { suspendedCalls } from '../elicitation/suspended-calls.ts';
import { fakeTime, HELLO, memoryBook, planOf, serverOf, tinyServer, toolCall } from '../fixtures.ts';
import { openServers } from '../servers.ts';
import { connectInMemory, type Serve } from '../transports/connect-in-memory.ts';
import type { ServerPlan } from './plan-server.ts';
import { openServerCache } from './server-cache.ts';

const signal = new AbortController().signal;
const settled = () => new Promise(setImmediate);
const NO_SUCH_METHOD = { code: -32601, message: 'What is that?' };

/** A server that answers pings as the test says. Our own peer would always answer them. */
class Pinged {
  readonly requests: string[] = [];
  ping: 'answers' | 'refuses' | 'is silent' = 'answers';
  transport: Transport | undefined;
  readonly serve: Serve = async (transport) => {
    this.transport = transport;
    transport.onmessage = (message) => this.#receive(message as Message);
    await transport.start();
  };

  answer(answer: JsonObject): Promise<void> | undefined {
    return this.transport?.send({ jsonrpc: '2.0', ...answer });
  }

  #receive({ id, method }: Message): void {
    if (typeof method !== 'string' || id === undefined) return;
    this.requests.push(method);
    if (method === 'initialize') void this.answer({ id, result: HELLO });
    else if (method === 'tools/list') void this.answer({ id, result: { tools: [] } });
    else if (method === 'ping' && this.ping === 'answers') void this.answer({ id, result: {} });
    else if (method === 'ping' && this.ping === 'is silent') return;
    else if (method !== 'tools/call') void this.answer({ id, error: NO_SUCH_METHOD });
  }
}

async function pinged(plan: Partial<ServerPlan> = {}) {
  const far = new Pinged();
  const made = serverOf(tinyServer(), { connect: connectInMemory(far.serve), plan });
  const { server, time } = made;
  await server.connect(signal);
  return {
    ...made,
    far,
    pings: () => far.requests.filter((method) => method === 'ping').length,
    /** Runs one health check after 30 s; an unanswered ping takes 5 s. */
    async check() {
      time.pass(30_000);
      const checked = server.check();
      await settled();
      time.pass(5000);
      await checked;
    },
  };
}

verifies('T7', 'is unhealthy after two missed probes, and healthy after one answered probe', async () => {
  const { server, far, check, events, time } = await pinged();
  await check();
  expect(server.status.health).toBe('ok');
  far.ping = 'is silent';
  await check();
  expect(server.status.health).toBe('ok');
  await check();
  const reason = 'It did not answer 2 probes in a row.';
  expect(server.status).toMatchObject({ state: 'connected', health: 'unhealthy', reason });
  far.ping = 'answers';
  await check();
  expect(server.status.health).toBe('ok');
  expect(server.status.reason).toBeUndefined();
  expect(events.filter((event) => event === 'health')).toHaveLength(2);
  expect(time.timers()).toBe(0);
});

verifies('T7', 'counts a refusal as an answer', async () => {
  const { server, far, check, pings } = await pinged();
  far.ping = 'refuses';
  await check();
  await check();
  expect([server.status.health, pings()]).toEqual(['ok', 2]);
});

verifies('T7', 'does not probe a server with a call in flight or a recent message', async () => {
  const { server, check, pings, far, time, notes } = await pinged();
  const call = new AbortController();
  const sent = server.connection?.send(toolCall('slow', {}, { signal: call.signal })).catch(() => {});
  await until('the call is in flight', () => far.requests.includes('tools/call'));
  await check();
  expect(pings()).toBe(0);
  call.abort();
  await sent;
  await far.answer({ method: 'notifications/message', params: { data: 'I am here.' } });
  await until('the notification has arrived', () => notes.length === 1);
  time.pass(29_999);
  await server.check();
  expect(pings()).toBe(0);
  await check();
  expect(pings()).toBe(1);
});

verifies('T7', 'is unhealthy after a transport problem, until it answers a probe', async () => {
  const { server, attempts, far, notes } = await pinged();
  const reason = 'It sent a message of 100 MB, which was not read.';
  attempts[0]?.onTrouble?.(reason);
  expect(server.status).toMatchObject({ health: 'unhealthy', reason });
  await far.answer({ method: 'notifications/message', params: { data: 'All is well.' } });
  await until('the notification has arrived', () => notes.length === 1);
  expect(server.status.health).toBe('unhealthy');
  await server.check();
  expect(server.status.health).toBe('ok');
});

it('ignores a probe whose connection was lost meanwhile', async () => {
  const { server, far, time } = await pinged();
  far.ping = 'is silent';
  time.pass(30_000);
  const checked = server.check();
  await until('the ping has arrived', () => far.requests.includes('ping'));
  await far.transport?.close();
  await checked;
  expect(server.status).toMatchObject({ state: 'pending', health: 'unknown' });
});

verifies('T7', 'closes a connection after four missed probes, and opens another', async () => {
  const { server, far, check, time } = await pinged();
  const connection = server.connection;
  far.ping = 'is silent';
  for (let n = 0; n < 4; n++) await check();
  await connection?.closed;
  expect(server.status).toMatchObject({
    state: 'pending',
    attempt: [1, 3],
    reason: expect.stringContaining('stopped answering'),
  });
  far.ping = 'answers';
  time.pass(10_000);
  await until('it is back', () => server.status.state === 'connected');
  expect(server.connection).not.toBe(connection);
});

verifies('T7', '`health.misses` says after how many missed probes a server is unhealthy', async () => {
  for (const misses of [1, 3]) {
    const { server, far, check } = await pinged({ health: { intervalMs: 30_000, misses } });
    far.ping = 'is silent';
    for (let n = 1; n < misses; n++) await check();
    expect(server.status.health).toBe('ok');
    await check();
    expect(server.status).toMatchObject({ state: 'connected', health: 'unhealthy' });
    for (let n = 0; n < misses; n++) await check();
    expect(server.status.state).toBe('pending');
  }
});

verifies(
  'T7',
  '`health.intervalMs` says how often a server is probed, also after a change of the configuration',
  async () => {
    const [often, usual] = [new Pinged(), new Pinged()];
    const time = fakeTime();
    const plan = (name: string, far: Pinged, health?: ServerPlan['health']) =>
      planOf({
        name,
        connect: connectInMemory(far.serve),
        ...(health && { health, revision: JSON.stringify(health) }),
      });
    const servers = openServers({
      plans: [plan('often', often, { intervalMs: 10_000, misses: 2 }), plan('usual', usual)],
      suspendedCalls: suspendedCalls(),
      cache: openServerCache({ saved: [], book: memoryBook() }),
      localConcurrency: 3,
      remoteConcurrency: 20,
      ...time,
      onStatus: () => {},
      onList: () => {},
      onNotification: () => {},
    });
    onTestFinished(() => servers.close());
    const pings = async (ms: number) => {
      for (const name of ['often', 'usual']) await servers.connect(name, signal);
      for (const far of [often, usual]) far.requests.length = 0;
      for (let passed = 0; passed < ms; passed += 10_000) {
        time.pass(10_000);
        await settled();
      }
      return [often, usual].map(({ requests }) => requests.filter((method) => method === 'ping').length);
    };
    expect(await pings(60_000)).toEqual([6, 2]);
    servers.update([plan('often', often), plan('usual', usual, { intervalMs: 20_000, misses: 2 })]);
    expect(await pings(60_000)).toEqual([2, 3]);
    await servers.close();
    expect(time.timers()).toBe(0);
  },
);
