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
const asked = (id: string) => toolCall('ask', {}, { capabilities, caller: { id, roles: ['user'], via: 'gateway' } });

async function connected(
  answers: Parameters<typeof tinyServer>[0],
  limits: { parking?: SuspendedCalls; maxCalls?: number },
) {
  const tiny = tinyServer({ 'tools/call': never, ...answers });
  const questions = openServerRequests({
    suspendedCalls: limits.parking ?? suspendedCalls(),
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
    serverRequests: questions,
    onNotification: () => {},
  });
  const ask = (method: string, params: JsonObject) => tiny.lines[0]?.request(method, params, { deadlineMs: 120_000 });
  return { tiny, connection, ask, questions };
}

verifies('T10', 'a call puts sixteen questions at once and no more, and the server hears that', async () => {
  const { connection, ask } = await connected({ initialize: () => HELLO }, {});
  const round = connection.send(asked('ada'));
  await until('it is under way', () => connection.inFlight() === 1);
  const answers = Array.from({ length: 20 }, () => ask('elicitation/create', FORM));
  const refused = await Promise.allSettled(answers.slice(16));
  expect(refused).toMatchObject(Array(4).fill({ status: 'rejected', reason: { code: -1 } }));
  const result = await round;
  expect(result.kind === 'input-required' && Object.keys(result.inputRequests)).toHaveLength(16);
  const ended = Promise.allSettled(answers);
  await connection.close();
  await ended;
});

verifies('T10', 'a result with more than sixteen questions is none', async () => {
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
  await expect(connection.send(asked('ada'))).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    message: expect.stringContaining('17 questions'),
  });
});

verifies('T10', 'calls that have ended take nobody else the room to wait', async () => {
  const places = suspendedCalls({ max: 4, maxPerPrincipal: 2 });
  const first = await connected({}, { parking: places });
  const ask = async ({ connection, ask }: typeof first) => {
    const before = connection.inFlight();
    const round = connection.send(asked('ada'));
    await until('it is under way', () => connection.inFlight() === before + 1);
    ask('elicitation/create', FORM)?.catch(() => {});
    return round;
  };
  await ask(first);
  await ask(first);
  await expect(ask(first)).rejects.toThrow(/Too many calls wait/);
  await first.connection.close();
  for (let n = 0; n < 3; n++) {
    const next = await connected({}, { parking: places });
    await expect(ask(next)).resolves.toMatchObject({ kind: 'input-required' });
    await expect(ask(next)).resolves.toMatchObject({ kind: 'input-required' });
    await next.connection.close();
  }
  places.close();
});

it('one user of a server cannot use up what another may let the model write', async () => {
  const { questions } = await connected({}, { maxCalls: 2 });
  const sample = (server: string, principal: string) =>
    questions.admit(server, { method: 'sampling/createMessage', params: {} }, { capabilities, principal });
  for (let n = 0; n < 2; n++) sample('demo', 'ada');
  expect(() => sample('demo', 'ada')).toThrow(/2 times/);
  expect(sample('demo', 'grace').params).toEqual({ maxTokens: 100 });
  expect(sample('other', 'ada').params).toEqual({ maxTokens: 100 });
});
