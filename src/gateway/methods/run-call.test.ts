import { Buffer } from 'node:buffer';
import { request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { elicitingModernServer } from '../../../test/servers/eliciting-modern-server.ts';
import { elicitingSessionServer } from '../../../test/servers/eliciting-server.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { gatewayUnderTest, JSON_HEADERS, modern, openSession } from '../fixtures.ts';
import type { GatewayOptions } from '../open-gateway.ts';

const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const ANN = { action: 'accept', content: { name: 'Ann', seats: 2, class: 'first' } };
const BAD_STATE = {
  code: -32602,
  message: 'Invalid or expired requestState',
  data: { reason: 'invalid_request_state' },
};

type Gateway = Awaited<ReturnType<typeof gatewayUnderTest>>;

/** A request of a modern client with these capabilities. */
function requestOf(method: string, params: JsonObject, capabilities: JsonObject = ALL): ReturnType<typeof modern> {
  const [message, headers] = modern(method, params);
  const sent = message.params as { _meta: JsonObject };
  const _meta = { ...sent._meta, 'io.modelcontextprotocol/clientCapabilities': capabilities };
  const uri = typeof params.uri === 'string' ? { 'mcp-name': params.uri } : {};
  return [
    { ...message, params: { ...sent, _meta } },
    { ...headers, ...uri },
  ];
}

function modernClient({ post }: Gateway, more: Readonly<Record<string, string>> = {}) {
  const send = async (method: string, params: JsonObject, capabilities?: JsonObject) => {
    const [message, headers] = requestOf(method, params, capabilities);
    const { json, status } = await post(message, { ...headers, ...more });
    return { status, result: json.result as JsonObject, error: json.error as JsonObject };
  };
  const call = (tool: string, params: JsonObject = {}, capabilities?: JsonObject) =>
    send('tools/call', { name: `mcp__demo__${tool}`, arguments: {}, ...params }, capabilities);
  return { send, call };
}

interface Options {
  readonly era?: 'legacy' | 'modern';
  readonly cancelled?: string[];
  readonly config?: JsonObject;
  readonly gateway?: Partial<GatewayOptions>;
}

async function opened({ era = 'legacy', cancelled = [], ...setting }: Options = {}) {
  const server = await (era === 'legacy' ? elicitingSessionServer(cancelled) : elicitingModernServer());
  onTestFinished(() => server.close());
  const gateway = await gatewayUnderTest({ servers: { demo: { type: 'http', url: server.url } }, ...setting });
  return { gateway, ...modernClient(gateway), url: server.url };
}

const textOf = ({ content }: JsonObject) => String((content as JsonObject[])[0]?.text);
const flipped = (state: string) => `${state.slice(0, -9)}${state.at(-9) === 'A' ? 'B' : 'A'}${state.slice(-8)}`;

describe.each(['legacy', 'modern'] as const)('an elicitation of a %s server', (era) => {
  const key = era === 'legacy' ? 'q1' : 'who';
  const isAnswered = (result: JsonObject) => expect(textOf(result)).toContain('"Ann"');

  verifies('P3', 'becomes an input_required result, and the call continues with the response', async () => {
    const { call } = await opened({ era });
    const { result } = await call('book');
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { [key]: { method: 'elicitation/create', params: { message: 'Who is travelling?' } } },
      requestState: expect.stringMatching(/^h1\./),
    });
    const back = { inputResponses: { [key]: ANN }, requestState: result.requestState };
    const last = await call('book', back);
    expect(last.result.resultType).toBe('complete');
    isAnswered(last.result);
  });

  it.each<[string, (state: string) => JsonObject, string, string?]>([
    ['a flipped bit', (state) => ({ requestState: flipped(state) }), 'forged'],
    ['a suffix', (state) => ({ requestState: `${state}-TAMPERED` }), ''],
    ['garbage', () => ({ requestState: 'garbage' }), 'malformed'],
    ['a number', () => ({ requestState: 12 }), 'not-text'],
    ['too much', () => ({ requestState: 'A'.repeat(70_000) }), 'too-long'],
    ['other arguments', (requestState) => ({ requestState, arguments: { x: 1 } }), 'other-call'],
    ['other parameters', (requestState) => ({ requestState, force: true }), 'other-call'],
    ['another tool', (requestState) => ({ requestState }), 'other-call', 'where'],
  ])('P3: %s is rejected with one message and audited, and the valid retry works', async (_, bad, reason, tool) => {
    const { call, gateway } = await opened({ era });
    const requestState = String((await call('book')).result.requestState);
    const inputResponses = { [key]: ANN };
    const { error, status } = await call(tool ?? 'book', { inputResponses, ...bad(requestState) });
    expect([error, status]).toEqual([BAD_STATE, 200]);
    isAnswered((await call('book', { inputResponses, requestState })).result);
    const refused = (await gateway.audit()).filter(({ detail }) => detail.outcome === 'refused');
    expect(refused).toMatchObject([{ caller: 'owner', detail: { reason: expect.stringContaining(reason) } }]);
  });

  verifies('P3', 'cannot be answered by another principal', async () => {
    const { call, gateway } = await opened({ era });
    const token = await gateway.heddle.access.createKey(
      { id: 'root', roles: ['owner'], via: 'cli' },
      { name: 'eve', roles: ['user'] },
    );
    const eve = modernClient(gateway, { authorization: `Bearer ${token}` });
    const back = { inputResponses: { [key]: ANN }, requestState: (await call('book')).result.requestState as string };
    expect((await eve.call('book', back)).error).toEqual(BAD_STATE);
    isAnswered((await call('book', back)).result);
    const refused = (await gateway.audit()).find(({ detail }) => detail.outcome === 'refused');
    expect(refused).toMatchObject({ caller: 'key:eve', detail: { reason: 'foreign-principal' } });
  });

  verifies('P3', 'has one call id in the audit log', async () => {
    const { call, gateway } = await opened({ era });
    const { requestState } = (await call('book')).result;
    await call('book', { inputResponses: { [key]: ANN }, requestState });
    const outcomes = (await gateway.audit()).filter(({ phase }) => phase === 'outcome');
    expect(outcomes.map(({ detail }) => detail.outcome)).toEqual(['ok', 'input-required']);
    expect(outcomes[0]?.callId).toBe(outcomes[1]?.callId);
  });
});

describe('a suspended call', () => {
  verifies('P3', 'is resumed once: a concurrent and a later resumption are rejected', async () => {
    const { call, gateway } = await opened();
    const back = { inputResponses: { q1: ANN }, requestState: (await call('book')).result.requestState as string };
    const both = await Promise.all([call('book', back), call('book', back)]);
    expect(both.flatMap(({ error = [] }) => error)).toEqual([BAD_STATE]);
    expect(both.flatMap(({ result }) => result?.resultType ?? [])).toEqual(['complete']);
    expect((await call('book', back)).error).toEqual(BAD_STATE);
    const records = await gateway.audit();
    const refused = records.filter(({ detail }) => detail.outcome === 'refused');
    const replayed = { caller: 'owner', detail: { reason: 'replayed' } };
    expect(refused).toMatchObject([replayed, replayed]);
    expect(new Set(records.map(({ callId }) => callId)).size).toBe(1);
  });

  verifies('P3', 'stays open for missing and invalid responses', async () => {
    const { call } = await opened();
    const first = (await call('both')).result;
    const some = (await call('both', { inputResponses: { q1: ANN, x: 1 }, requestState: first.requestState })).result;
    expect(Object.keys(some.inputRequests as JsonObject)).toEqual(['q2']);
    const { requestState } = some;
    for (const bad of [7, null, { action: 'maybe' }, { action: 'accept', content: { seats: 99 } }]) {
      const { result } = await call('both', { inputResponses: { q2: bad }, requestState });
      expect(result).toMatchObject({ isError: true });
    }
    expect(JSON.parse(textOf((await call('both', { inputResponses: { q2: ANN }, requestState })).result))).toEqual([
      ANN,
      ANN,
    ]);
  });

  verifies('F6', 'is cancelled when its client disconnects after the call was resumed', async () => {
    const cancelled: string[] = [];
    const { call, gateway } = await opened({ cancelled });
    const { requestState } = (await call('hang')).result;
    const name = 'mcp__demo__hang';
    const resumption = { inputResponses: { q1: ANN }, requestState: requestState as string };
    const [message, headers] = requestOf('tools/call', { name, arguments: {}, ...resumption });
    const sent = request({
      port: gateway.port,
      path: '/mcp',
      method: 'POST',
      headers: { ...JSON_HEADERS, ...headers },
    });
    sent.on('error', () => {});
    sent.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
    await until('the server has the response', () => cancelled.includes('hanging'));
    sent.destroy();
    await until('the call is cancelled', () => cancelled.includes('hang'));
  });

  verifies('P3', 'is lost with its gateway, and another gateway reports that', async () => {
    const gateway = { stateSecrets: [Buffer.alloc(32, 7)] };
    const [one, two] = [await opened({ gateway }), await opened({ gateway })];
    const { requestState } = (await one.call('book')).result;
    const { result } = await two.call('book', { inputResponses: { q1: ANN }, requestState });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('The gateway that suspended the call to demo is gone');
  });
});

verifies('P3', 'resumes the call of a stateless server in any gateway with the same secret', async () => {
  const gateway = { stateSecrets: [Buffer.alloc(32, 7)] };
  const [one, two] = [await opened({ era: 'modern', gateway }), await opened({ era: 'modern', gateway })];
  const { requestState } = (await one.call('book')).result;
  const { result } = await two.call('book', { inputResponses: { who: ANN }, requestState });
  expect(JSON.parse(textOf(result))).toEqual({ who: ANN });
});

verifies('G5', 'counts only repeated resumptions of a stateless call against the rate limit', async () => {
  const { call } = await opened({
    era: 'modern',
    config: { limits: { perCaller: { maxCalls: 2, windowMs: 60_000 } } },
  });
  const { requestState } = (await call('book')).result;
  const resume = async () => (await call('book', { inputResponses: { who: ANN }, requestState })).result;
  const results = [await resume(), await resume(), await resume()];
  expect(results.map(({ isError }) => isError ?? false)).toEqual([false, false, true]);
  expect(textOf(results[2] as JsonObject)).toContain('RATE_LIMITED');
});

verifies('P3', 'passes responses to a server without state, with and without our requestState', async () => {
  const { call } = await opened({ era: 'modern' });
  const { requestState } = (await call('stateless')).result;
  const answered = await call('stateless', { inputResponses: { who: ANN }, requestState });
  expect(JSON.parse(textOf(answered.result))).toMatchObject({ who: ANN });
  const odd = { who: ANN, stray: 7 };
  expect(JSON.parse(textOf((await call('stateless', { inputResponses: odd })).result))).toMatchObject({ who: ANN });
  for (const inputResponses of [null, 3, [], { who: { failed: { code: 1, message: 'x' } } }]) {
    expect((await call('stateless', { inputResponses })).error).toMatchObject({ code: -32602 });
  }
});

verifies('P3', 'ignores responses without a requestState for a legacy server', async () => {
  const { call } = await opened();
  expect((await call('book', { inputResponses: { q1: ANN } })).result.resultType).toBe('input_required');
});

verifies('P3', 'returns a requestState without input requests when the server asks to be called again', async () => {
  const { call } = await opened({ era: 'modern' });
  const { result } = await call('patience');
  expect(Object.keys(result)).toEqual(['resultType', 'requestState']);
  expect(textOf((await call('patience', { requestState: result.requestState })).result)).toBe('"wait"');
});

describe('a legacy server that requires URL elicitation', () => {
  verifies('P3', 'elicits the URL from a modern client and is called again', async () => {
    const { call } = await opened();
    const { result } = await call('gated');
    const [[key, inputRequest] = []] = Object.entries(result.inputRequests as Record<string, JsonObject>);
    expect(inputRequest).toMatchObject({
      method: 'elicitation/create',
      params: { mode: 'url', message: 'Sign in first.' },
    });
    expect(inputRequest?.params).not.toHaveProperty('elicitationId');
    const back = { inputResponses: { [String(key)]: { action: 'accept' } }, requestState: result.requestState };
    expect(textOf((await call('gated', back)).result)).toBe('"opened"');
  });

  verifies('P3', 'is called again only once per requestState', async () => {
    const { call, gateway } = await opened();
    const { requestState } = (await call('gated')).result;
    const back = { inputResponses: { q1: { action: 'accept' } }, requestState };
    expect(textOf((await call('gated', back)).result)).toBe('"opened"');
    expect((await call('gated', back)).error).toEqual(BAD_STATE);
    const refused = (await gateway.audit()).filter(({ detail }) => detail.outcome === 'refused');
    expect(refused).toMatchObject([{ caller: 'owner', detail: { reason: 'replayed' } }]);
  });

  verifies('P3', 'is not called again when the user declines', async () => {
    const { call } = await opened();
    const { requestState } = (await call('gated')).result;
    const { result } = await call('gated', { inputResponses: { q1: { action: 'decline' } }, requestState });
    expect(result.isError).toBe(true);
  });

  verifies('P3', 'is a missing capability for a modern client without URL elicitation', async () => {
    const { call } = await opened();
    const { status, error } = await call('gated', {}, { elicitation: {} });
    expect(status).toBe(400);
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } });
  });
});

it.each([
  ['prompts/get', { name: 'mcp__demo__letter' }, 'To whom?'],
  ['resources/read', { uri: 'ask://diary' }, 'Whose?'],
])('P3: %s may return input requests, too', async (method, params, message) => {
  const { send } = await opened();
  const { result, error } = await send(method, params);
  expect(error).toBeUndefined();
  expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { q1: { params: { message } } } });
  expect(result).not.toHaveProperty('ttlMs');
  const { requestState } = result;
  const last = await send(method, { ...params, inputResponses: { q1: ANN }, requestState });
  expect(last.result.resultType).toBe('complete');
  expect(JSON.stringify(last.result)).toContain('Ann');
  const again = await send(method, { ...params, inputResponses: { q1: ANN }, requestState });
  expect(again.error).toEqual(BAD_STATE);
});

verifies('P3', 'refuses a response without a session with 404 and ignores an unknown one in a session', async () => {
  const { gateway } = await opened();
  const response = { id: 'heddle-1', result: {} };
  expect((await gateway.post(response)).status).toBe(404);
  expect((await gateway.post(response, { 'mcp-session-id': 'unknown' })).status).toBe(404);
  expect(await gateway.post(response, await openSession(gateway))).toMatchObject({ status: 202, text: '' });
});
