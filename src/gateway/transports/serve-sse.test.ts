import { type ClientRequest, request } from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type Behaviour, recordingServer, text } from '../../../test/servers/recording-server.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import type { Authenticate } from '../auth/authenticate.ts';
import { type GatewayUnderTest, gatewayUnderTest, JSON_HEADERS, modern } from '../fixtures.ts';

const CLIENTS = process.env.HEDDLE_TEST_SCALE === 'full' ? 1000 : 50;

interface Listener {
  readonly endpoint: string;
  readonly said: JsonObject[];
  readonly request: ClientRequest;
  readonly ended: Promise<void>;
  post(message: JsonObject): ReturnType<GatewayUnderTest['send']>;
  ask(message: JsonObject): Promise<JsonObject>;
}

function listen(gateway: GatewayUnderTest, headers = JSON_HEADERS, path = '/sse'): Promise<Listener> {
  const said: JsonObject[] = [];
  const asked = new Map<unknown, (answer: JsonObject) => void>();
  return new Promise((resolve, reject) => {
    const { port } = gateway;
    const sent = request({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
      const ended = new Promise<void>((done) => response.once('close', done));
      let held = '';
      response.on('error', () => {});
      response.setEncoding('utf8').on('data', (chunk) => {
        held += chunk;
        const events = held.split('\n\n');
        held = events.pop() ?? '';
        for (const event of events) take(event, ended);
      });
    });
    function take(event: string, ended: Promise<void>): void {
      const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      if (name === 'message') {
        const message: JsonObject = JSON.parse(data);
        said.push(message);
        asked.get(message.id)?.(message);
      } else if (name === 'endpoint') resolve({ ...speaker(data), endpoint: data, said, request: sent, ended });
    }
    function speaker(endpoint: string) {
      const post = (message: JsonObject) =>
        gateway.send({ path: endpoint, headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
      async function ask(message: JsonObject): Promise<JsonObject> {
        const { promise, resolve } = Promise.withResolvers<JsonObject>();
        asked.set(message.id, resolve);
        expect((await post(message)).status).toBe(202);
        return promise;
      }
      return { post, ask };
    }
    onTestFinished(() => void sent.destroy());
    sent.on('error', reject).end();
  });
}

const callOf = (id: number, name: string, input: JsonObject = {}) => ({
  id,
  method: 'tools/call',
  params: { name: `mcp__up__${name}`, arguments: input },
});

describe('over HTTP with SSE', () => {
  verifies('P1', 'the official client lists and calls', async () => {
    const server = recordingServer({ do: () => text('done') });
    const { port } = await gatewayUnderTest({ servers: { up: server } });
    const client = new Client({ name: 'old', version: '0' });
    const { authorization } = JSON_HEADERS;
    await client.connect(
      new SSEClientTransport(new URL(`http://127.0.0.1:${port}/sse`), { requestInit: { headers: { authorization } } }),
    );
    onTestFinished(() => client.close());
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('mcp__up__do');
    expect(await client.callTool({ name: 'mcp__up__do', arguments: {} })).toEqual(text('done'));
  });

  verifies('P1', 'changes are told, progress is heard, and a call is cancelled', async () => {
    const tell: Behaviour = (_, { progress }) => {
      progress({ progress: 1 });
      return new Promise(() => {});
    };
    const server = recordingServer({ tell });
    const { ask, post, said } = await listen(await gatewayUnderTest({ servers: { up: server } }));
    expect(
      (await ask({ id: 1, method: 'initialize', params: { protocolVersion: '2024-11-05' } })).result,
    ).toMatchObject({ protocolVersion: '2024-11-05' });
    const call = callOf(2, 'tell');
    await post({ ...call, params: { ...call.params, _meta: { progressToken: 'p' } } });
    await until('progress is heard', () => said.some(({ method }) => method === 'notifications/progress'));
    await post({ method: 'notifications/cancelled', params: { requestId: 2 } });
    await until('it is cancelled', () => server.cancelled.length === 1);
    server.change({ after: () => text('') });
    await until('it is told', () => said.some(({ method }) => method === 'notifications/tools/list_changed'));
    expect(said.some(({ id }) => id === 2)).toBe(false);
  });

  verifies('P4', 'a line does not exist for another caller, and nobody listens without a credential', async () => {
    const byName: Authenticate = ({ headers }) => {
      const name = /^Bearer (\w+)$/.exec(headers.authorization ?? '')?.[1];
      return name === undefined ? undefined : { id: name, roles: ['user'], via: 'gateway' };
    };
    const as = (name: string) => ({ ...JSON_HEADERS, authorization: `Bearer ${name}` });
    const gateway = await gatewayUnderTest({ authenticate: byName });
    const { endpoint, ask } = await listen(gateway, as('ada'));
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    expect((await gateway.send({ path: endpoint, headers: as('bob'), body })).status).toBe(404);
    expect((await gateway.send({ path: '/messages?sessionId=nobody', headers: as('ada'), body })).status).toBe(404);
    expect((await gateway.send({ path: endpoint, headers: { 'content-type': 'application/json' }, body })).status).toBe(
      401,
    );
    expect((await gateway.send({ method: 'GET', path: '/sse' })).status).toBe(401);
    expect((await gateway.send({ method: 'GET', path: '/sse', headers: { ...as('ada'), host: 'evil' } })).status).toBe(
      403,
    );
    expect(await ask({ id: 1, method: 'ping' })).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  verifies('P2', 'a profile has its own place, and its lines are heard nowhere else', async () => {
    const config = { profiles: { small: { servers: ['up'] } } };
    const servers = { up: recordingServer({ one: () => text('') }), other: recordingServer({ two: () => text('') }) };
    const gateway = await gatewayUnderTest({ servers, config });
    const { endpoint, ask } = await listen(gateway, JSON_HEADERS, '/sse/small');
    expect(endpoint).toMatch(/^\/messages\/small\?sessionId=/);
    const { tools } = (await ask({ id: 1, method: 'tools/list' })).result as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(['mcp__up__one']);
    const [, query] = endpoint.split('?');
    const body = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' });
    expect((await gateway.send({ path: `/messages?${query}`, headers: JSON_HEADERS, body })).status).toBe(404);
  });

  it.each([
    ['of another type', 'x', { 'content-type': 'text/plain' }, 415],
    ['of broken JSON', '{', {}, 400],
    ['beyond the limit', `"${'x'.repeat(5 * 1024 * 1024)}"`, {}, 413],
  ])('P6: a body %s is refused', async (_, body, headers, status) => {
    const gateway = await gatewayUnderTest();
    const { endpoint, ask } = await listen(gateway);
    const answered = await gateway.send({ path: endpoint, headers: { ...JSON_HEADERS, ...headers }, body });
    expect(answered.status).toBe(status);
    expect((await ask({ id: 1, method: 'ping' })).result).toEqual({});
  });

  verifies('P6', 'what is no message is refused on the stream, and other methods at the door', async () => {
    const gateway = await gatewayUnderTest();
    const { endpoint, said, ask, post } = await listen(gateway);
    await post({ id: 1.5, method: 'ping' });
    expect((await ask({ id: 1, method: 'ping' })).result).toEqual({});
    expect(said[0]).toMatchObject({ id: null, error: { code: -32600 } });
    for (const [method, path] of [
      ['POST', '/sse'],
      ['GET', endpoint],
      ['DELETE', endpoint],
    ] as const) {
      expect((await gateway.send({ method, path, headers: JSON_HEADERS })).status).toBe(405);
    }
  });

  verifies('F5', 'clients that all use the id 1 at once each get their own answer', async () => {
    const scramble: Behaviour = async ({ who, turns }) => {
      for (let turn = 0; turn < Number(turns); turn++) await new Promise((resolve) => setImmediate(resolve));
      return text(`for ${who}`);
    };
    const gateway = await gatewayUnderTest({ servers: { up: recordingServer({ scramble }) } });
    const clients = await Promise.all(Array.from({ length: CLIENTS }, () => listen(gateway)));
    const answers = await Promise.all(
      clients.map(({ ask }, who) => ask(callOf(1, 'scramble', { who, turns: (who * 7) % 23 }))),
    );
    expect(answers).toEqual(clients.map((_, who) => ({ jsonrpc: '2.0', id: 1, result: text(`for ${who}`) })));
  });

  verifies('F6', 'who leaves in the middle of a call cancels it within a second', async () => {
    const server = recordingServer({ forever: () => new Promise(() => {}) });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const { request, post, endpoint } = await listen(gateway);
    await post(callOf(1, 'forever'));
    await until('it has arrived', () => server.calls.length === 1);
    request.destroy();
    await until('it is cancelled', () => server.cancelled.length === 1);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' });
    expect((await gateway.send({ path: endpoint, headers: JSON_HEADERS, body })).status).toBe(404);
  });

  verifies('P6', 'a gateway that stops answers what is under way first', async () => {
    const gate = Promise.withResolvers<JsonObject>();
    const server = recordingServer({ wait: () => gate.promise });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const { post, said, ended } = await listen(gateway);
    await post(callOf(1, 'wait'));
    await post({ ...modern('subscriptions/listen', { notifications: { toolsListChanged: true } })[0], id: 2 });
    await until('it has arrived', () => server.calls.length === 1);
    const stopped = gateway.close(10_000);
    gate.resolve(text('in the end'));
    await ended;
    await stopped;
    expect(said).toContainEqual({ jsonrpc: '2.0', id: 1, result: text('in the end') });
    expect(said.find(({ id }) => id === 2)).toMatchObject({ result: { resultType: 'complete' } });
  });
});
