import { type ClientRequest, request as httpRequest } from 'node:http';
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

interface SseClient {
  readonly endpoint: string;
  readonly received: JsonObject[];
  readonly connection: ClientRequest;
  readonly ended: Promise<void>;
  post(message: JsonObject): ReturnType<GatewayUnderTest['send']>;
  request(message: JsonObject): Promise<JsonObject>;
}

function connect(gateway: GatewayUnderTest, headers = JSON_HEADERS, path = '/sse'): Promise<SseClient> {
  const received: JsonObject[] = [];
  const waiting = new Map<unknown, (response: JsonObject) => void>();
  return new Promise((resolve, reject) => {
    const { port } = gateway;
    const sent = httpRequest({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
      const ended = new Promise<void>((done) => response.once('close', done));
      let unread = '';
      response.on('error', () => {});
      response.setEncoding('utf8').on('data', (chunk) => {
        unread += chunk;
        const events = unread.split('\n\n');
        unread = events.pop() ?? '';
        for (const event of events) take(event, ended);
      });
    });
    function take(event: string, ended: Promise<void>): void {
      const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      if (name === 'message') {
        const message: JsonObject = JSON.parse(data);
        received.push(message);
        waiting.get(message.id)?.(message);
      } else if (name === 'endpoint') resolve({ ...senderTo(data), endpoint: data, received, connection: sent, ended });
    }
    function senderTo(endpoint: string) {
      const post = (message: JsonObject) =>
        gateway.send({ path: endpoint, headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
      async function request(message: JsonObject): Promise<JsonObject> {
        const { promise, resolve } = Promise.withResolvers<JsonObject>();
        waiting.set(message.id, resolve);
        expect((await post(message)).status).toBe(202);
        return promise;
      }
      return { post, request };
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

describe('HTTP+SSE', () => {
  verifies('P1', 'serves tools/list and tools/call to the SDK client', async () => {
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

  verifies('P1', 'sends list changes and progress, and cancels a call', async () => {
    const report: Behaviour = (_, { progress }) => {
      progress({ progress: 1 });
      return new Promise(() => {});
    };
    const server = recordingServer({ report });
    const { request, post, received } = await connect(await gatewayUnderTest({ servers: { up: server } }));
    expect(
      (await request({ id: 1, method: 'initialize', params: { protocolVersion: '2024-11-05' } })).result,
    ).toMatchObject({ protocolVersion: '2024-11-05' });
    const call = callOf(2, 'report');
    await post({ ...call, params: { ...call.params, _meta: { progressToken: 'p' } } });
    await until('progress is received', () => received.some(({ method }) => method === 'notifications/progress'));
    await post({ method: 'notifications/cancelled', params: { requestId: 2 } });
    await until('the call is cancelled', () => server.cancelled.length === 1);
    server.change({ after: () => text('') });
    await until('the list change is received', () =>
      received.some(({ method }) => method === 'notifications/tools/list_changed'),
    );
    expect(received.some(({ id }) => id === 2)).toBe(false);
  });

  verifies('P4', 'refuses a session of another caller with 404 and a missing credential with 401', async () => {
    const byName: Authenticate = ({ headers }) => {
      const name = /^Bearer (\w+)$/.exec(headers.authorization ?? '')?.[1];
      return name === undefined ? undefined : { id: name, roles: ['user'], via: 'gateway' };
    };
    const as = (name: string) => ({ ...JSON_HEADERS, authorization: `Bearer ${name}` });
    const gateway = await gatewayUnderTest({ authenticate: byName });
    const { endpoint, request } = await connect(gateway, as('ada'));
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    expect((await gateway.send({ path: endpoint, headers: as('bob'), body })).status).toBe(404);
    expect((await gateway.send({ path: '/messages?sessionId=unknown', headers: as('ada'), body })).status).toBe(404);
    expect((await gateway.send({ path: endpoint, headers: { 'content-type': 'application/json' }, body })).status).toBe(
      401,
    );
    expect((await gateway.send({ method: 'GET', path: '/sse' })).status).toBe(401);
    expect((await gateway.send({ method: 'GET', path: '/sse', headers: { ...as('ada'), host: 'evil' } })).status).toBe(
      403,
    );
    expect(await request({ id: 1, method: 'ping' })).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  verifies('P2', 'serves a profile at its own path, and refuses its session at another', async () => {
    const config = { profiles: { small: { servers: ['up'] } } };
    const servers = { up: recordingServer({ one: () => text('') }), other: recordingServer({ two: () => text('') }) };
    const gateway = await gatewayUnderTest({ servers, config });
    const { endpoint, request } = await connect(gateway, JSON_HEADERS, '/sse/small');
    expect(endpoint).toMatch(/^\/messages\/small\?sessionId=/);
    const { tools } = (await request({ id: 1, method: 'tools/list' })).result as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(['mcp__up__one']);
    const [, query] = endpoint.split('?');
    const body = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' });
    expect((await gateway.send({ path: `/messages?${query}`, headers: JSON_HEADERS, body })).status).toBe(404);
  });

  it.each([
    ['of another type', 'x', { 'content-type': 'text/plain' }, 415],
    ['of broken JSON', '{', {}, 400],
    ['beyond the limit', `"${'x'.repeat(5 * 1024 * 1024)}"`, {}, 413],
  ])('P6: refuses a body %s', async (_, body, headers, status) => {
    const gateway = await gatewayUnderTest();
    const { endpoint, request } = await connect(gateway);
    const response = await gateway.send({ path: endpoint, headers: { ...JSON_HEADERS, ...headers }, body });
    expect(response.status).toBe(status);
    expect((await request({ id: 1, method: 'ping' })).result).toEqual({});
  });

  verifies(
    'P6',
    'answers an invalid message with an error on the stream, and another HTTP method with 405',
    async () => {
      const gateway = await gatewayUnderTest();
      const { endpoint, received, request, post } = await connect(gateway);
      await post({ id: 1.5, method: 'ping' });
      expect((await request({ id: 1, method: 'ping' })).result).toEqual({});
      expect(received[0]).toMatchObject({ id: null, error: { code: -32600 } });
      for (const [method, path] of [
        ['POST', '/sse'],
        ['GET', endpoint],
        ['DELETE', endpoint],
      ] as const) {
        expect((await gateway.send({ method, path, headers: JSON_HEADERS })).status).toBe(405);
      }
    },
  );

  verifies('F5', 'gives clients that all use the id 1 their own responses', async () => {
    const scramble: Behaviour = async ({ who, turns }) => {
      for (let turn = 0; turn < Number(turns); turn++) await new Promise((resolve) => setImmediate(resolve));
      return text(`for ${who}`);
    };
    const gateway = await gatewayUnderTest({ servers: { up: recordingServer({ scramble }) } });
    const clients = await Promise.all(Array.from({ length: CLIENTS }, () => connect(gateway)));
    const responses = await Promise.all(
      clients.map(({ request }, who) => request(callOf(1, 'scramble', { who, turns: (who * 7) % 23 }))),
    );
    expect(responses).toEqual(clients.map((_, who) => ({ jsonrpc: '2.0', id: 1, result: text(`for ${who}`) })));
  });

  verifies('F6', 'cancels the call of a client that disconnects', async () => {
    const server = recordingServer({ forever: () => new Promise(() => {}) });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const { connection, post, endpoint } = await connect(gateway);
    await post(callOf(1, 'forever'));
    await until('the call has arrived', () => server.calls.length === 1);
    connection.destroy();
    await until('the call is cancelled', () => server.cancelled.length === 1);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' });
    expect((await gateway.send({ path: endpoint, headers: JSON_HEADERS, body })).status).toBe(404);
  });

  verifies('P6', 'answers requests in flight when the gateway closes', async () => {
    const gate = Promise.withResolvers<JsonObject>();
    const server = recordingServer({ wait: () => gate.promise });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const { post, received, ended } = await connect(gateway);
    await post(callOf(1, 'wait'));
    await post({ ...modern('subscriptions/listen', { notifications: { toolsListChanged: true } })[0], id: 2 });
    await until('the call has arrived', () => server.calls.length === 1);
    const stopped = gateway.close(10_000);
    gate.resolve(text('in the end'));
    await ended;
    await stopped;
    expect(received).toContainEqual({ jsonrpc: '2.0', id: 1, result: text('in the end') });
    expect(received.find(({ id }) => id === 2)).toMatchObject({ result: { resultType: 'complete' } });
  });
});
