import { type ClientRequest, request } from 'node:http';
import { describe, expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import type { Authenticate } from '../../src/gateway/auth/authenticate.ts';
import { type GatewayUnderTest, gatewayUnderTest, JSON_HEADERS } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { type Behaviour, recordingServer, text } from '../servers/recording-server.ts';
import { until } from '../until.ts';

type Headers = Readonly<Record<string, string>>;

interface Stream {
  readonly status: number;
  readonly events: string[];
  readonly request: ClientRequest;
  readonly ended: Promise<void>;
}

/** Sends a request and reads its events as they come. */
function stream({ port }: GatewayUnderTest, headers: Headers, message?: JsonObject): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const method = message ? 'POST' : 'GET';
    const options = { host: '127.0.0.1', port, path: '/mcp', method, headers: { ...JSON_HEADERS, ...headers } };
    const sent = request({ ...options, agent: false }, (response) => {
      const events: string[] = [];
      let unread = '';
      response.on('error', () => {});
      response.setEncoding('utf8').on('data', (chunk) => {
        unread += chunk;
        const parts = unread.split('\n\n');
        unread = parts.pop() ?? '';
        events.push(...parts);
      });
      const ended = new Promise<void>((done) => response.once('close', done));
      resolve({ status: response.statusCode ?? 0, events, request: sent, ended });
    });
    onTestFinished(() => void sent.destroy());
    sent.on('error', reject).end(message && JSON.stringify({ jsonrpc: '2.0', ...message }));
  });
}

async function sessionOf({ post }: GatewayUnderTest, protocolVersion = '2025-11-25', headers: Headers = JSON_HEADERS) {
  const hello = { id: 0, method: 'initialize', params: { protocolVersion } };
  return { 'mcp-session-id': String((await post(hello, headers)).headers['mcp-session-id']) };
}

const lastId = (events: readonly string[]) => /^id: (.+)$/m.exec(events.at(-1) ?? '')?.[1] ?? '';
const messageIn = (event = '') => JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? 'null');

async function startCall(version?: string) {
  const gate = Promise.withResolvers<JsonObject>();
  const report: Behaviour = (_, { progress }) => {
    progress({ progress: 1 });
    return gate.promise;
  };
  const server = recordingServer({ report });
  const gateway = await gatewayUnderTest({ servers: { up: server } });
  const session = await sessionOf(gateway, version);
  const params = { name: 'mcp__up__report', arguments: {}, _meta: { progressToken: 'p' } };
  const call = await stream(gateway, session, { id: 1, method: 'tools/call', params });
  await until('progress is received', () => call.events.some((event) => event.includes('notifications/progress')));
  return { gate, server, gateway, session, call };
}

describe('a client whose stream has broken', () => {
  verifies('P1', 'resumes with Last-Event-ID while the call continues', async () => {
    const { gate, server, gateway, session, call } = await startCall();
    expect(call.events[0]).toMatch(/^id: \S+\nretry: \d+\ndata:$/);
    call.request.destroy();
    const rest = await stream(gateway, { ...session, 'last-event-id': lastId(call.events) });
    expect(rest.status).toBe(200);
    gate.resolve(text('in the end'));
    await rest.ended;
    expect(rest.events.map(messageIn)).toEqual([{ jsonrpc: '2.0', id: 1, result: text('in the end') }]);
    expect(server.cancelled).toEqual([]);
  });

  verifies('P1', 'gets missed events from any id, even after the response', async () => {
    const { gate, gateway, session, call } = await startCall();
    call.request.destroy();
    gate.resolve(text('meanwhile'));
    const primed = lastId(call.events.slice(0, 1));
    const again = async () => {
      const rest = await stream(gateway, { ...session, 'last-event-id': primed });
      await rest.ended;
      return rest.events.map(messageIn);
    };
    const both = [
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1, progressToken: 'p' } },
      { jsonrpc: '2.0', id: 1, result: text('meanwhile') },
    ];
    expect([await again(), await again()]).toEqual([both, both]);
  });

  verifies('F6', 'that does not resume has its call cancelled', async () => {
    const { server, call } = await startCall();
    call.request.destroy();
    await until('the call is cancelled', () => server.cancelled.length === 1);
  });

  verifies('P4', 'can resume only in its own session', async () => {
    const byName: Authenticate = ({ headers }) => {
      const name = /^Bearer (\w+)$/.exec(headers.authorization ?? '')?.[1];
      return name === undefined ? undefined : { id: name, roles: ['user'], via: 'gateway' };
    };
    const as = (name: string) => ({ ...JSON_HEADERS, authorization: `Bearer ${name}` });
    const server = recordingServer({ one: () => text('') });
    const gateway = await gatewayUnderTest({ servers: { up: server }, authenticate: byName });
    const mine = { ...as('ada'), ...(await sessionOf(gateway, '2025-11-25', as('ada'))) };
    const other = { ...as('ada'), ...(await sessionOf(gateway, '2025-11-25', as('ada'))) };
    const { events } = await stream(gateway, mine);
    await until('it is open', () => events.length === 1);
    const id = { 'last-event-id': lastId(events) };
    expect((await stream(gateway, { ...mine, ...as('bob'), ...id })).status).toBe(404);
    expect((await stream(gateway, { ...other, ...id })).status).toBe(400);
    expect((await stream(gateway, { ...mine, ...id })).status).toBe(200);
    expect((await stream(gateway, { ...mine, 'last-event-id': '99-1' })).status).toBe(400);
  });

  verifies('P1', 'hears the changes it missed', async () => {
    const server = recordingServer({ before: () => text('') });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const session = await sessionOf(gateway);
    await gateway.post({ id: 1, method: 'tools/list' }, session);
    const first = await stream(gateway, session);
    await until('it is open', () => first.events.length === 1);
    first.request.destroy();
    await first.ended;
    const changed = new AbortController();
    const changes = gateway.heddle.changes({ id: 'test', roles: ['owner'], via: 'gateway' }, changed.signal);
    const seen = (async () => {
      for await (const { kind } of changes) if (kind === 'catalog') return;
    })();
    server.change({ after: () => text('') });
    await seen;
    changed.abort();
    const again = await stream(gateway, { ...session, 'last-event-id': lastId(first.events) });
    await until('it is told', () => again.events.length > 0);
    expect(messageIn(again.events[0])).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  });

  verifies('P1', 'of an older version is sent no event without data, and comes back all the same', async () => {
    const { gate, gateway, session, call } = await startCall('2025-06-18');
    expect(call.events).toHaveLength(1);
    call.request.destroy();
    gate.resolve(text('older'));
    const rest = await stream(gateway, { ...session, 'last-event-id': lastId(call.events) });
    await rest.ended;
    expect(rest.events.map(messageIn)).toEqual([{ jsonrpc: '2.0', id: 1, result: text('older') }]);
  });
});
