import { expect, it } from 'vitest';
import { NO_CAPABILITIES } from '../../src/core/call/client-capabilities.ts';
import type { JsonObject } from '../../src/core/call.ts';
import { openServerRequests } from '../../src/upstream/elicitation/server-requests.ts';
import { type SuspendedCalls, suspendedCalls } from '../../src/upstream/elicitation/suspended-calls.ts';
import { HELLO, never, tinyServer, toolCall } from '../../src/upstream/fixtures.ts';
import { connectInMemory } from '../../src/upstream/transports/connect-in-memory.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';

const capabilities = { ...NO_CAPABILITIES, form: true, sampling: true };
const FORM = { message: 'Who?', requestedSchema: { type: 'object', properties: { who: { type: 'string' } } } };
const signal = new AbortController().signal;
const callOf = (id: string) => toolCall('ask', {}, { capabilities, caller: { id, roles: ['user'], via: 'gateway' } });

async function connected(
  answers: Parameters<typeof tinyServer>[0],
  limits: { suspended?: SuspendedCalls; maxCalls?: number },
) {
  const tiny = tinyServer({ 'tools/call': never, ...answers });
  const serverRequests = openServerRequests({
    suspendedCalls: limits.suspended ?? suspendedCalls(),
    roots: () => [],
    sampling: () => ({ maxCalls: limits.maxCalls ?? 100, windowMs: 60_000, maxTokens: 100 }),
    clock: () => 1000,
  });
  const connect = connectInMemory(tiny.serve);
  const connection = await connect({
    server: 'demo',
    signal,
    known: undefined,
    capabilities,
    serverRequests,
    onNotification: () => {},
  });
  const request = (method: string, params: JsonObject) =>
    tiny.transports[0]?.request(method, params, { deadlineMs: 120_000 });
  return { tiny, connection, request, serverRequests };
}

verifies('T10', 'allows 16 open input requests per call, and answers further ones with an error', async () => {
  const { connection, request } = await connected({ initialize: () => HELLO }, {});
  const sending = connection.send(callOf('ada'));
  await until('it is in flight', () => connection.inFlight() === 1);
  const answers = Array.from({ length: 20 }, () => request('elicitation/create', FORM));
  const refused = await Promise.allSettled(answers.slice(16));
  expect(refused).toMatchObject(Array(4).fill({ status: 'rejected', reason: { code: -1 } }));
  const result = await sending;
  expect(result.kind === 'input-required' && Object.keys(result.inputRequests)).toHaveLength(16);
  const ended = Promise.allSettled(answers);
  await connection.close();
  await ended;
});

verifies('T10', 'rejects a result with more than 16 input requests', async () => {
  const inputRequests = Object.fromEntries(
    Array.from({ length: 17 }, (_, at) => [`q${at}`, { method: 'elicitation/create', params: FORM }]),
  );
  const { connection } = await connected(
    {
      'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }),
      'tools/call': () => ({ resultType: 'input_required', inputRequests }),
    },
    {},
  );
  await expect(connection.send(callOf('ada'))).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    message: expect.stringContaining('17 input requests'),
  });
});

verifies('T10', 'does not count ended calls as suspended', async () => {
  const suspended = suspendedCalls({ max: 4, maxPerPrincipal: 2 });
  const first = await connected({}, { suspended });
  const elicit = async ({ connection, request }: typeof first) => {
    const before = connection.inFlight();
    const sending = connection.send(callOf('ada'));
    await until('it is in flight', () => connection.inFlight() === before + 1);
    request('elicitation/create', FORM)?.catch(() => {});
    return sending;
  };
  await elicit(first);
  await elicit(first);
  await expect(elicit(first)).rejects.toThrow(/Too many calls wait/);
  await first.connection.close();
  for (let n = 0; n < 3; n++) {
    const next = await connected({}, { suspended });
    await expect(elicit(next)).resolves.toMatchObject({ kind: 'input-required' });
    await expect(elicit(next)).resolves.toMatchObject({ kind: 'input-required' });
    await next.connection.close();
  }
  suspended.close();
});

it('counts sampling requests per server and user', async () => {
  const { serverRequests } = await connected({}, { maxCalls: 2 });
  const sample = (server: string, principal: string) =>
    serverRequests.admit(server, { method: 'sampling/createMessage', params: {} }, { capabilities, principal });
  for (let n = 0; n < 2; n++) sample('demo', 'ada');
  expect(() => sample('demo', 'ada')).toThrow(/2 times/);
  expect(sample('demo', 'grace').params).toEqual({ maxTokens: 100 });
  expect(sample('other', 'ada').params).toEqual({ maxTokens: 100 });
});
