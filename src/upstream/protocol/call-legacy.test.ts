import { afterEach, expect, it, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject, Result } from '../../core/call.ts';
import { talk } from '../../wire/fixtures.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import type { Peer } from '../../wire/peer.ts';
import { openServerRequests } from '../elicitation/server-requests.ts';
import { suspendedCalls } from '../elicitation/suspended-calls.ts';
import { legacyCalls } from './call-legacy.ts';
import { ALL, accept, callWith, connectLegacyServer, continued, FORM, requestFrom } from './fixtures.ts';

const NO_SAMPLING = { maxCalls: 0, windowMs: 1, maxTokens: 1 };
const turn = () => new Promise(setImmediate);
const keysOf = (result: Result) => (result.kind === 'input-required' ? Object.keys(result.inputRequests) : result.kind);
const withdrawnOf = (result: Result) => (result.kind === 'input-required' ? result.withdrawn : undefined);

afterEach(() => vi.useRealTimers());

verifies('T10', 'returns an input request during a call as a result, with a ticket that resumes once', async () => {
  const { connection, resume } = await connectLegacyServer(async (server) => ({
    responses: [await requestFrom(server), await requestFrom(server)],
  }));
  const first = await connection.send(callWith());
  expect(first).toMatchObject({
    inputRequests: { q1: { method: 'elicitation/create', params: FORM } },
    continuation: { kind: 'suspended', server: 'demo' },
  });
  const resumed = continued(first, { q1: accept(1) });
  const second = await resume(resumed);
  expect(keysOf(second)).toEqual(['q2']);
  await expect(resume(resumed)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  expect(await resume(continued(second, { q2: accept(2) }))).toMatchObject({
    value: { responses: [accept(1), accept(2)] },
  });
  expect([connection.inFlight(), connection.sendsUnrelatedRequests()]).toEqual([0, true]);
});

verifies('T10', 'rejects a ticket of another caller or another call, and keeps the call suspended', async () => {
  const { connection, resume } = await connectLegacyServer(async (server) => requestFrom(server));
  const required = await connection.send(callWith());
  const eve = { id: 'eve', roles: [], via: 'gateway' } as const;
  const { target } = callWith();
  for (const more of [
    { caller: eve },
    { input: { other: 1 } },
    { target: { ...target, name: 'y' } },
    { continuation: { kind: 'suspended', server: 'elsewhere', ticket: 'x' } as const },
  ]) {
    await expect(resume(continued(required, { q1: accept(1) }, more))).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  }
  expect(await resume(continued(required, { q1: accept(1) }))).toMatchObject({ value: accept(1) });
});

verifies(
  'T10',
  'keeps an input request open after an invalid response, and returns the rest after some responses',
  async () => {
    const { connection, resume } = await connectLegacyServer(async (server) => ({
      responses: await Promise.all([requestFrom(server), requestFrom(server)]),
    }));
    const required = await connection.send(callWith());
    expect(keysOf(required)).toEqual(['q1', 'q2']);
    for (const bad of [
      accept(0.5),
      { action: 'maybe' },
      { action: 'accept', content: [] },
      7 as never,
      null as never,
    ]) {
      await expect(resume(continued(required, { q1: bad as JsonObject }))).rejects.toMatchObject({
        code: 'INPUT_INVALID',
      });
    }
    const rest = await resume(continued(required, { q2: accept(2), q9: accept(9) }));
    expect(keysOf(rest)).toEqual(['q1']);
    expect(await resume(continued(rest, { q1: { action: 'decline' } }))).toMatchObject({
      value: { responses: [{ action: 'decline' }, accept(2)] },
    });
  },
);

verifies('T10', 'passes the failure of a client on to the server', async () => {
  const { connection, resume } = await connectLegacyServer((server) =>
    requestFrom(server, 'roots/list', {}).catch((error: RpcError) => ({ code: error.code, text: error.message })),
  );
  const required = await connection.send(callWith());
  const failed = { failed: { code: -32000, message: 'No window.' } };
  expect(await resume(continued(required, { q1: failed }))).toMatchObject({
    value: { code: -32000, text: 'No window.' },
  });
});

for (const [how, code] of [
  ['the call is cancelled', 'CALL_CANCELLED'],
  ['no response comes in time', 'UPSTREAM_TIMEOUT'],
  ['Heddle closes', 'CALL_CANCELLED'],
] as const) {
  verifies('T10', `ends the suspended call and its input request when ${how}`, async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const ended: string[] = [];
    const { connection, suspended, resume } = await connectLegacyServer((server) => {
      return requestFrom(server).catch(() => {
        ended.push('input request');
        return {};
      });
    });
    const abort = new AbortController();
    const sending = connection.send(callWith({ signal: abort.signal }));
    await turn();
    await vi.advanceTimersByTimeAsync(5);
    const required = await sending;
    if (how === 'no response comes in time') await vi.advanceTimersByTimeAsync(300_000);
    if (how === 'the call is cancelled') abort.abort();
    if (how === 'Heddle closes') suspended.close();
    await turn();
    expect(ended).toEqual(['input request']);
    expect(connection.inFlight()).toBe(0);
    expect(withdrawnOf(required)?.aborted).toBe(true);
    await expect(resume(continued(required, { q1: accept(1) }))).rejects.toMatchObject({ code });
  });
}

verifies('T10', 'sends the cancel notification before it answers the open input request', async () => {
  const taken = Promise.withResolvers<void>();
  const sent: JsonObject[] = [];
  const send = async (message: JsonObject) => {
    sent.push(message);
    if (message.method === 'notifications/cancelled') await taken.promise; // Like a POST that has no response yet.
  };
  const { peer, receive } = await talk({ answer: (...all) => calls.answer(...all) }, { send });
  const serverRequests = openServerRequests({
    suspendedCalls: suspendedCalls(),
    roots: () => [],
    sampling: () => NO_SAMPLING,
  });
  const calls = legacyCalls({ peer, server: 'demo', capabilities: ALL, serverRequests });
  const abort = new AbortController();
  const sending = calls.send(callWith({ signal: abort.signal }));
  receive({ jsonrpc: '2.0', id: 'theirs', method: 'elicitation/create', params: FORM });
  await sending;
  abort.abort();
  await turn();
  expect(sent.map(({ method }) => method)).toEqual(['tools/call', 'notifications/cancelled']);
  taken.resolve();
  await turn();
  expect(sent.at(-1)).toMatchObject({ id: 'theirs', error: { code: -32603 } });
});

for (const [how, answersAfter] of [
  ['answers in time', 999],
  ['is late', 1001],
] as const) {
  verifies(
    'T6',
    `stops the deadline while a call is suspended, and restarts it on resume: the server ${how}`,
    async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
      const { connection, resume } = await connectLegacyServer(async (server) => {
        await requestFrom(server);
        return new Promise((resolve) => setTimeout(resolve, answersAfter, { done: true }));
      });
      const options = { timeoutMs: 1000 };
      const sending = connection.send(callWith({ options }));
      await turn();
      await vi.advanceTimersByTimeAsync(5);
      const required = await sending;
      await vi.advanceTimersByTimeAsync(200_000);
      const going = resume(continued(required, { q1: accept(1) }, { options })).catch((thrown) => thrown);
      await turn();
      await vi.advanceTimersByTimeAsync(2000);
      expect(await going).toMatchObject(
        how === 'is late' ? { code: 'UPSTREAM_TIMEOUT', delivered: 'maybe' } : { value: { done: true } },
      );
    },
  );
}

verifies('T10', 'bounds the suspended calls, in all and per caller', async () => {
  const { connection } = await connectLegacyServer(async (server) => requestFrom(server), {
    max: 3,
    maxPerPrincipal: 2,
  });
  const by = (id: string) => callWith({ caller: { id, roles: [], via: 'gateway' } });
  const results = [];
  for (const id of ['ann', 'ann', 'ann', 'bob', 'bob']) {
    results.push(
      await connection.send(by(id)).then(
        ({ kind }) => kind,
        ({ code }) => code,
      ),
    );
  }
  expect(results).toEqual(['input-required', 'input-required', 'UPSTREAM_FAILED', 'input-required', 'UPSTREAM_FAILED']);
  expect(connection.inFlight()).toBe(3);
});

verifies('T10', 'reports a server that ends while its call is suspended', async () => {
  const { connection, server, resume } = await connectLegacyServer(async (peer) => requestFrom(peer));
  const required = await connection.send(callWith());
  await server().close();
  await connection.closed;
  await expect(resume(continued(required, { q1: accept(1) }))).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    delivered: 'maybe',
    message: 'demo ended while its call waited for the user.',
  });
});

verifies(
  'T10',
  'attributes an input request to the call of its stream, else to the oldest call without one',
  async () => {
    const { connection, resume } = await connectLegacyServer(async (server, { arguments: input }) => {
      const response = await requestFrom(server, 'elicitation/create', {
        ...FORM,
        message: String((input as JsonObject).name),
      });
      return { name: (input as JsonObject).name, response };
    });
    const names = ['a', 'b', 'c'];
    const all = await Promise.all(names.map((name) => connection.send(callWith({ input: { name } }))));
    expect(all.map((one) => one.kind === 'input-required' && one.inputRequests.q1?.params?.message)).toEqual(names);
    const done = all.map((one, at) =>
      resume(continued(one, { q1: accept(at) }, { input: { name: names[at] as string } })),
    );
    expect((await Promise.all(done)).map((one) => one.kind === 'complete' && one.value)).toEqual(
      names.map((name, at) => ({ name, response: accept(at) })),
    );
  },
);

it('rejects requests without the capability, without a call, and with another method', async () => {
  const refused = async (server: Peer, method: string, params = FORM) =>
    requestFrom(server, method, params).catch(({ code }: RpcError) => ({ code }));
  const { connection, server } = await connectLegacyServer((peer) => refused(peer, 'elicitation/create'));
  expect(await connection.send(callWith({ capabilities: { ...ALL, form: false } }))).toMatchObject({
    value: { code: -32601 },
  });
  expect(await refused(server(), 'elicitation/create')).toEqual({ code: -32601 });
  expect(await refused(server(), 'roots/list')).toEqual({ code: -32601 });
  expect(await refused(server(), 'tasks/list')).toEqual({ code: -32601 });
});

verifies('T10', 'repeats the call once after the URL was visited, and not a second time', async () => {
  const elicitations = [{ mode: 'url', elicitationId: 'e1', url: 'https://example.com/', message: 'Sign in.' }];
  let calls = 0;
  const { connection, server } = await connectLegacyServer(async () => {
    calls++;
    throw new RpcError(-32042, 'Visit first.', { elicitations });
  });
  const required = await connection.send(callWith());
  expect(required).toMatchObject({
    inputRequests: { q1: { params: { mode: 'url', url: 'https://example.com/' } } },
    continuation: { kind: 'call-again', server: 'demo', after: ['e1'] },
  });
  expect(await connection.send(continued(required, { q1: { action: 'decline' } }))).toMatchObject({ isError: true });
  expect(await connection.send(continued(required, {}))).toMatchObject({ isError: true });
  expect(calls).toBe(1);
  const again = connection.send(continued(required, { q1: { action: 'accept' } }));
  const failing = expect(again).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED', details: { rpc: { code: -32042 } } });
  await turn();
  expect(calls).toBe(1);
  await server().notify('notifications/elicitation/complete', { elicitationId: 'e1' });
  await failing;
  expect(calls).toBe(2);
  const unable = connection.send(callWith({ capabilities: { ...ALL, url: false } }));
  await expect(unable).rejects.toMatchObject({ details: { rpc: { code: -32042 } } });
});

verifies('T10', 'rejects an http URL, and repeats the call after 20 s without a completion notification', async () => {
  const { connection } = await connectLegacyServer(async () => {
    const elicitations = [{ mode: 'url', elicitationId: 'e1', url: 'http://example.com/', message: 'Sign in.' }];
    throw new RpcError(-32042, 'Visit first.', { elicitations });
  });
  const refused = await connection.send(callWith());
  expect(refused).toMatchObject({ isError: true });
  expect(JSON.stringify(refused)).toContain('its URL has to begin with https://');

  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let calls = 0;
  const silent = await connectLegacyServer(async () => ({ calls: ++calls }));
  const continuation = { kind: 'call-again', server: 'demo', after: ['e1'] } as const;
  const again = silent.connection.send(callWith({ continuation, inputResponses: { q1: { action: 'accept' } } }));
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await again).toMatchObject({ value: { calls: 1 } });
});

verifies('T10', 'caps the tokens of a sampling request and counts it for its server', async () => {
  const { connection, resume } = await connectLegacyServer((server) =>
    requestFrom(server, 'sampling/createMessage', { messages: [], maxTokens: 9000 }).catch(({ code }) => ({ code })),
  );
  const required = await connection.send(callWith());
  expect(required).toMatchObject({ inputRequests: { q1: { params: { maxTokens: 50 } } } });
  expect(await resume(continued(required, { q1: { role: 'assistant' } }))).toMatchObject({
    value: { role: 'assistant' },
  });
  expect(await connection.send(callWith())).toMatchObject({ value: { code: -1 } });
});
