import { afterEach, expect, it, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { ClientCapabilities, InputResponses, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { talk } from '../../wire/fixtures.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import type { Peer } from '../../wire/peer.ts';
import { openServerRequests } from '../elicitation/server-requests.ts';
import { type SuspendedCallsOptions, suspendedCalls } from '../elicitation/suspended-calls.ts';
import { type TinyAnswer, tinyServer, toolCall } from '../fixtures.ts';
import { connectInMemory } from '../transports/connect-in-memory.ts';
import { legacyCalls, resumeSuspended } from './call-legacy.ts';

const ALL: ClientCapabilities = { form: true, url: true, sampling: true, samplingTools: false, roots: true };
const FORM = { message: 'Which?', requestedSchema: { type: 'object', properties: { n: { type: 'integer' } } } };
const NO_SAMPLING = { maxCalls: 0, windowMs: 1, maxTokens: 1 };
const turn = () => new Promise(setImmediate);

/** A legacy server whose tools ask with the peer they are given, on a line that declares these abilities. */
async function line(
  tool: (server: Peer, params: JsonObject) => Promise<JsonObject>,
  options: SuspendedCallsOptions = {},
) {
  const heard: unknown[] = [];
  const answer: TinyAnswer = (params) => tool(server(), params);
  const tiny = tinyServer({ 'tools/call': answer });
  const server = () => tiny.lines[0] as Peer;
  const parked = suspendedCalls(options);
  const sampling = () => ({ maxCalls: 1, windowMs: 1000, maxTokens: 50 });
  const questions = openServerRequests({ suspendedCalls: parked, roots: () => [], sampling });
  const connection = await connectInMemory(tiny.serve)({
    serverRequests: questions,
    server: 'demo',
    signal: new AbortController().signal,
    known: 'legacy',
    capabilities: ALL,
    onNotification: (method) => heard.push(method),
  });
  return { connection, parked, server, resume: (call: ResolvedCall) => resumeSuspended(parked, call) };
}

const asks = (server: Peer, method = 'elicitation/create', params: JsonObject = FORM) =>
  server.request(method, params, { deadlineMs: 600_000 });
const call = (more: Partial<ResolvedCall> = {}) => toolCall('x', {}, { capabilities: ALL, ...more });

function goOn(result: Result, answers: InputResponses, more: Partial<ResolvedCall> = {}): ResolvedCall {
  if (result.kind !== 'input-required') throw new Error('It did not ask.');
  return call({ continuation: result.continuation, inputResponses: answers, ...more });
}
const keysOf = (result: Result) => (result.kind === 'input-required' ? Object.keys(result.inputRequests) : result.kind);
const overOf = (result: Result) => (result.kind === 'input-required' ? result.withdrawn : undefined);
const yes = (n: number) => ({ action: 'accept', content: { n } });

afterEach(() => vi.useRealTimers());

verifies('T10', 'a question in the middle of a call is a result, and its ticket is good for one round', async () => {
  const { connection, resume } = await line(async (server) => ({ said: [await asks(server), await asks(server)] }));
  const first = await connection.send(call());
  expect(first).toMatchObject({
    questions: { q1: { method: 'elicitation/create', params: FORM } },
    next: { kind: 'parked', server: 'demo' },
  });
  const round = goOn(first, { q1: yes(1) });
  const second = await resume(round);
  expect(keysOf(second)).toEqual(['q2']);
  await expect(resume(round)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  expect(await resume(goOn(second, { q2: yes(2) }))).toMatchObject({ value: { said: [yes(1), yes(2)] } });
  expect([connection.inFlight(), connection.sendsUnrelatedRequests()]).toEqual([0, true]);
});

verifies('T10', 'a ticket is worth nothing to another caller or for another call, and stays good', async () => {
  const { connection, resume } = await line(async (server) => asks(server));
  const asked = await connection.send(call());
  const eve = { id: 'eve', roles: [], via: 'gateway' } as const;
  const { target } = call();
  for (const more of [
    { caller: eve },
    { input: { other: 1 } },
    { target: { ...target, name: 'y' } },
    { from: { kind: 'parked', server: 'elsewhere', ticket: 'x' } as const },
  ]) {
    await expect(resume(goOn(asked, { q1: yes(1) }, more))).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  }
  expect(await resume(goOn(asked, { q1: yes(1) }))).toMatchObject({ value: yes(1) });
});

verifies('T10', 'bad answers leave the question open, and part of the answers asks for the rest', async () => {
  const { connection, resume } = await line(async (server) => ({
    said: await Promise.all([asks(server), asks(server)]),
  }));
  const asked = await connection.send(call());
  expect(keysOf(asked)).toEqual(['q1', 'q2']);
  for (const bad of [yes(0.5), { action: 'maybe' }, { action: 'accept', content: [] }, 7 as never, null as never]) {
    await expect(resume(goOn(asked, { q1: bad as JsonObject }))).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  }
  const rest = await resume(goOn(asked, { q2: yes(2), q9: yes(9) }));
  expect(keysOf(rest)).toEqual(['q1']);
  expect(await resume(goOn(rest, { q1: { action: 'decline' } }))).toMatchObject({
    value: { said: [{ action: 'decline' }, yes(2)] },
  });
});

verifies('T10', 'what a client could not put is told to the server as it was told to us', async () => {
  const { connection, resume } = await line((server) =>
    asks(server, 'roots/list', {}).catch((error: RpcError) => ({ code: error.code, text: error.message })),
  );
  const asked = await connection.send(call());
  const failed = { failed: { code: -32000, message: 'No window.' } };
  expect(await resume(goOn(asked, { q1: failed }))).toMatchObject({ value: { code: -32000, text: 'No window.' } });
});

for (const [how, code] of [
  ['the call is cancelled', 'CALL_CANCELLED'],
  ['nobody answers in time', 'UPSTREAM_TIMEOUT'],
  ['Heddle closes', 'CALL_CANCELLED'],
] as const) {
  verifies('T10', `nothing is left waiting when ${how}`, async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const ended: string[] = [];
    const { connection, parked, resume } = await line((server) => {
      return asks(server).catch(() => {
        ended.push('question');
        return {};
      });
    });
    const abort = new AbortController();
    const sending = connection.send(call({ signal: abort.signal }));
    await turn();
    await vi.advanceTimersByTimeAsync(5);
    const asked = await sending;
    if (how === 'nobody answers in time') await vi.advanceTimersByTimeAsync(300_000);
    if (how === 'the call is cancelled') abort.abort();
    if (how === 'Heddle closes') parked.close();
    await turn();
    expect(ended).toEqual(['question']);
    expect(connection.inFlight()).toBe(0);
    expect(overOf(asked)?.aborted).toBe(true);
    await expect(resume(goOn(asked, { q1: yes(1) }))).rejects.toMatchObject({ code });
  });
}

verifies('T10', 'the server hears that the call is cancelled before its question is closed', async () => {
  const taken = Promise.withResolvers<void>();
  const sent: JsonObject[] = [];
  const send = async (message: JsonObject) => {
    sent.push(message);
    if (message.method === 'notifications/cancelled') await taken.promise; // As a POST that is still on its way.
  };
  const { peer, say } = await talk({ answer: (...all) => calls.answer(...all) }, { send });
  const questions = openServerRequests({
    suspendedCalls: suspendedCalls(),
    roots: () => [],
    sampling: () => NO_SAMPLING,
  });
  const calls = legacyCalls({ peer, server: 'demo', capabilities: ALL, serverRequests: questions });
  const abort = new AbortController();
  const sending = calls.send(call({ signal: abort.signal }));
  say({ jsonrpc: '2.0', id: 'theirs', method: 'elicitation/create', params: FORM });
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
  verifies('T6', `the deadline stands still while a person is asked, and begins anew: the server ${how}`, async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { connection, resume } = await line(async (server) => {
      await asks(server);
      return new Promise((resolve) => setTimeout(resolve, answersAfter, { done: true }));
    });
    const options = { timeoutMs: 1000 };
    const sending = connection.send(call({ options }));
    await turn();
    await vi.advanceTimersByTimeAsync(5);
    const asked = await sending;
    await vi.advanceTimersByTimeAsync(200_000);
    const going = resume(goOn(asked, { q1: yes(1) }, { options })).catch((thrown) => thrown);
    await turn();
    await vi.advanceTimersByTimeAsync(2000);
    expect(await going).toMatchObject(
      how === 'is late' ? { code: 'UPSTREAM_TIMEOUT', delivered: 'maybe' } : { value: { done: true } },
    );
  });
}

verifies('T10', 'what waits is bounded, in all and for each caller', async () => {
  const { connection } = await line(async (server) => asks(server), { max: 3, maxPerPrincipal: 2 });
  const by = (id: string) => call({ caller: { id, roles: [], via: 'gateway' } });
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

verifies('T10', 'a server that ends while it waits is said to have ended', async () => {
  const { connection, server, resume } = await line(async (peer) => asks(peer));
  const asked = await connection.send(call());
  await server().close();
  await connection.closed;
  await expect(resume(goOn(asked, { q1: yes(1) }))).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    delivered: 'maybe',
    message: 'demo stopped while it waited for the answer.',
  });
});

verifies('T10', 'a question goes to the call whose stream it came on, else to the oldest that has none', async () => {
  const { connection, resume } = await line(async (server, { arguments: input }) => {
    const said = await asks(server, 'elicitation/create', { ...FORM, message: String((input as JsonObject).name) });
    return { name: (input as JsonObject).name, said };
  });
  const names = ['a', 'b', 'c'];
  const all = await Promise.all(names.map((name) => connection.send(call({ input: { name } }))));
  expect(all.map((one) => one.kind === 'input-required' && one.inputRequests.q1?.params?.message)).toEqual(names);
  const done = all.map((one, at) => resume(goOn(one, { q1: yes(at) }, { input: { name: names[at] as string } })));
  expect((await Promise.all(done)).map((one) => one.kind === 'complete' && one.value)).toEqual(
    names.map((name, at) => ({ name, said: yes(at) })),
  );
});

it('refuses what this caller cannot be asked, what no call asked for, and what is no question', async () => {
  const refused = async (server: Peer, method: string, params = FORM) =>
    asks(server, method, params).catch(({ code }: RpcError) => ({ code }));
  const { connection, server } = await line((peer) => refused(peer, 'elicitation/create'));
  expect(await connection.send(call({ capabilities: { ...ALL, form: false } }))).toMatchObject({
    value: { code: -32601 },
  });
  expect(await refused(server(), 'elicitation/create')).toEqual({ code: -32601 });
  expect(await refused(server(), 'roots/list')).toEqual({ code: -32601 });
  expect(await refused(server(), 'tasks/list')).toEqual({ code: -32601 });
});

verifies('T10', 'the call is repeated once after the visit, and not a second time', async () => {
  const elicitations = [{ mode: 'url', elicitationId: 'e1', url: 'https://example.com/', message: 'Sign in.' }];
  let calls = 0;
  const { connection, server } = await line(async () => {
    calls++;
    throw new RpcError(-32042, 'Visit first.', { elicitations });
  });
  const asked = await connection.send(call());
  expect(asked).toMatchObject({
    questions: { q1: { params: { mode: 'url', url: 'https://example.com/' } } },
    next: { kind: 'call-again', server: 'demo', after: ['e1'] },
  });
  expect(await connection.send(goOn(asked, { q1: { action: 'decline' } }))).toMatchObject({ isError: true });
  expect(await connection.send(goOn(asked, {}))).toMatchObject({ isError: true });
  expect(calls).toBe(1);
  const again = connection.send(goOn(asked, { q1: { action: 'accept' } }));
  const failing = expect(again).rejects.toMatchObject({ code: 'UPSTREAM_REFUSED', details: { rpc: { code: -32042 } } });
  await turn();
  expect(calls).toBe(1);
  await server().notify('notifications/elicitation/complete', { elicitationId: 'e1' });
  await failing;
  expect(calls).toBe(2);
  const unable = connection.send(call({ capabilities: { ...ALL, url: false } }));
  await expect(unable).rejects.toMatchObject({ details: { rpc: { code: -32042 } } });
});

verifies(
  'T10',
  'no URL but a safe one is shown, and a server that never says the visit is over is asked all the same',
  async () => {
    const { connection } = await line(async () => {
      const elicitations = [{ mode: 'url', elicitationId: 'e1', url: 'http://example.com/', message: 'Sign in.' }];
      throw new RpcError(-32042, 'Visit first.', { elicitations });
    });
    const refused = await connection.send(call());
    expect(refused).toMatchObject({ isError: true });
    expect(JSON.stringify(refused)).toContain('its URL has to begin with https://');

    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let calls = 0;
    const silent = await line(async () => ({ calls: ++calls }));
    const from = { kind: 'call-again', server: 'demo', after: ['e1'] } as const;
    const again = silent.connection.send(call({ continuation: from, inputResponses: { q1: { action: 'accept' } } }));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await again).toMatchObject({ value: { calls: 1 } });
  },
);

verifies('T10', 'sampling is capped and counted for each server', async () => {
  const { connection, resume } = await line((server) =>
    asks(server, 'sampling/createMessage', { messages: [], maxTokens: 9000 }).catch(({ code }) => ({ code })),
  );
  const asked = await connection.send(call());
  expect(asked).toMatchObject({ questions: { q1: { params: { maxTokens: 50 } } } });
  expect(await resume(goOn(asked, { q1: { role: 'assistant' } }))).toMatchObject({ value: { role: 'assistant' } });
  expect(await connection.send(call())).toMatchObject({ value: { code: -1 } });
});
