import { EventEmitter } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { recordingServer, text } from '../../../test/servers/recording-server.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import type { Authenticate } from '../auth/authenticate.ts';
import { type GatewayUnderTest, gatewayUnderTest, JSON_HEADERS, openSession } from '../fixtures.ts';
import { openStream } from './session-stream.ts';
import { openSessions, type Session } from './sessions.ts';

const HALF_AN_HOUR = 30 * 60_000;
const [ada, bob, eve] = [{ id: 'ada' }, { id: 'bob' }, { id: 'eve' }];

function clocked() {
  let now = 1_000_000;
  const sessions = openSessions({ clock: () => now });
  return { sessions, later: (ms: number) => (now += ms) };
}

describe('a session', () => {
  it('is found only by its own caller', () => {
    const { sessions } = clocked();
    const { id } = sessions.open(ada);
    expect(sessions.find(id, ada)?.id).toBe(id);
    expect(sessions.find(id, bob)).toBeUndefined();
    expect(sessions.find('other', ada)).toBeUndefined();
    expect(sessions.find(undefined, ada)).toBeUndefined();
  });

  it('is found only in its own profile, and keeps the id of its caller', () => {
    const { sessions } = clocked();
    const { id, callerId } = sessions.open({ ...ada, profile: 'pub' });
    expect(callerId).toBe('ada');
    expect(sessions.find(id, { ...ada, profile: 'pub' })?.id).toBe(id);
    expect(sessions.find(id, { ...ada, profile: 'other' })).toBeUndefined();
    expect(sessions.find(id, ada)).toBeUndefined();
  });

  it('ends 30 minutes after its last use', () => {
    const { sessions, later } = clocked();
    const { id } = sessions.open(ada);
    later(HALF_AN_HOUR);
    expect(sessions.find(id, ada)).toBeDefined();
    later(HALF_AN_HOUR);
    expect(sessions.find(id, ada)).toBeDefined();
    later(HALF_AN_HOUR + 1);
    expect(sessions.find(id, ada)).toBeUndefined();
    expect([...sessions.all()]).toEqual([]);
  });

  it('with an open stream does not expire, and does not keep others from expiring', () => {
    const { sessions, later } = clocked();
    const listening = sessions.open(ada);
    listening.streams.add({ end() {} } as never);
    const idle = sessions.open(bob);
    later(HALF_AN_HOUR + 1);
    sessions.open(eve);
    expect([...sessions.all()]).toContain(listening);
    expect([...sessions.all()]).not.toContain(idle);
  });

  verifies('P6', 'lasts 30 minutes from the end of its stream, also after a longer one', () => {
    const { sessions, later } = clocked();
    const session = sessions.open(ada);
    const idle = sessions.open(bob);
    const response = openStreamOf(session);
    later(2 * HALF_AN_HOUR);
    response.emit('close');
    expect(sessions.find(idle.id, bob)).toBeUndefined();
    later(HALF_AN_HOUR);
    expect(sessions.find(session.id, ada)).toBe(session);
    later(HALF_AN_HOUR + 1);
    expect(sessions.find(session.id, ada)).toBeUndefined();
  });

  it('stays ended when its stream closes afterwards', () => {
    const { sessions } = clocked();
    const session = sessions.open(ada);
    const response = openStreamOf(session);
    sessions.end(session);
    response.emit('close');
    expect(sessions.find(session.id, ada)).toBeUndefined();
    expect([...sessions.all()]).toEqual([]);
  });

  it('is evicted for newer ones of the same caller past 1000, not for those of others', () => {
    const { sessions } = clocked();
    const others = sessions.open(bob);
    const [first, second] = [sessions.open(ada), sessions.open(ada)];
    for (let count = 0; count < 999; count++) sessions.open(ada);
    expect(sessions.find(first.id, ada)).toBeUndefined();
    expect(sessions.find(second.id, ada)).toBe(second);
    for (let count = 0; count < 11_000; count++) sessions.open(ada);
    expect(sessions.find(others.id, bob)).toBe(others);
    expect([...sessions.all()]).toHaveLength(1001);
  });

  it('is evicted in order of last use', () => {
    const { sessions } = clocked();
    const [used, unused] = [sessions.open(ada), sessions.open(ada)];
    for (let count = 0; count < 998; count++) sessions.open(ada);
    sessions.find(used.id, ada);
    sessions.open(ada);
    expect(sessions.find(used.id, ada)).toBe(used);
    expect(sessions.find(unused.id, ada)).toBeUndefined();
  });

  verifies('P6', 'in use is never evicted; the least recently used idle one is', () => {
    const { sessions } = clocked();
    const [busy, listening, idle] = [sessions.open(ada), sessions.open(ada), sessions.open(ada)];
    const cancelled = keepBusy(busy);
    listening.streams.add({ end() {} } as never);
    for (let count = 0; count < 998; count++) sessions.open(ada);
    expect(cancelled).toEqual([]);
    const all = [...sessions.all()];
    expect([all.includes(busy), all.includes(listening), all.includes(idle)]).toEqual([true, true, false]);
    expect(all).toHaveLength(1000);
  });

  verifies('P6', 'is refused to a caller with 1000 sessions in use, and to no other caller', () => {
    const { sessions } = clocked();
    for (let count = 0; count < 1000; count++) keepBusy(sessions.open(ada));
    expect(() => sessions.open(ada)).toThrow(/This caller has 1000 sessions, all in use/);
    expect(sessions.open(bob).callerId).toBe('bob');
    expect([...sessions.all()]).toHaveLength(1001);
  });

  verifies('P6', 'evicts an idle one among 10,000, and is refused if all are in use', () => {
    const { sessions } = clocked();
    const first = sessions.open(ada);
    const cancelled = keepBusy(first);
    const opened = Array.from({ length: 10_000 }, (_, at) => sessions.open({ id: `caller ${at % 100}` }));
    expect([...sessions.all()]).toHaveLength(10_000);
    expect([sessions.find(first.id, ada), cancelled]).toEqual([first, []]);
    for (const session of opened) keepBusy(session);
    expect(() => sessions.open(eve)).toThrow(/10000 sessions, all in use/);
  });
});

/** Opens a GET stream of a session without a socket. Returns its response. */
function openStreamOf(session: Session): EventEmitter {
  const response = Object.assign(new EventEmitter(), {
    writeHead: () => response,
    flushHeaders() {},
    write: () => true,
    end() {},
    destroy() {},
  });
  const incoming = { request: { headers: {} }, response, isStillAuthorized: () => true };
  openStream(incoming as never, session, () => () => {});
  return response;
}

/** Adds a request in flight to a session. Returns its cancellations. */
function keepBusy(session: Session): readonly unknown[] {
  const cancelled: unknown[] = [];
  const reply = {
    cancel: () => cancelled.push('cancelled'),
    cancelWith: (refusal: unknown) => cancelled.push(refusal),
  };
  session.running.set(1, reply as never);
  return cancelled;
}

const byName: Authenticate = ({ headers }) => {
  const name = /^Bearer (\w+)$/.exec(headers.authorization ?? '')?.[1];
  return name === undefined ? undefined : { id: name, roles: ['user'], via: 'gateway' };
};
const as = (name: string) => ({ ...JSON_HEADERS, authorization: `Bearer ${name}` });

async function sessionOf({ post }: GatewayUnderTest, name: string) {
  return openSession({ post: (message) => post(message, as(name)) });
}

const status = async (gateway: GatewayUnderTest, headers: Record<string, string>, method = 'POST') =>
  (await gateway.send({ method, headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }) })).status;

describe('a session over HTTP', () => {
  verifies('P4', 'is unknown to another caller for POST, GET and DELETE', async () => {
    const gateway = await gatewayUnderTest({ authenticate: byName });
    const session = await sessionOf(gateway, 'ada');
    for (const method of ['POST', 'GET', 'DELETE']) {
      expect([method, await status(gateway, { ...as('bob'), ...session }, method)]).toEqual([method, 404]);
    }
    expect(await status(gateway, { ...as('ada'), ...session })).toBe(200);
  });

  verifies('P1', 'ends with DELETE, together with its calls and its stream', async () => {
    const server = recordingServer({ forever: () => new Promise(() => {}) });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const session = await openSession(gateway);
    const call = { id: 1, method: 'tools/call', params: { name: 'mcp__up__forever', arguments: {} } };
    const pending = gateway.post(call, session);
    const stream = await listen(gateway, session);
    await until('the call has arrived', () => server.calls.length === 1);
    expect(await status(gateway, { ...JSON_HEADERS, ...session }, 'DELETE')).toBe(200);
    const response = await pending;
    expect([response.status, response.json]).toMatchObject([
      200,
      {
        id: 1,
        error: { message: expect.stringContaining('The session has ended.'), data: { code: 'CALL_CANCELLED' } },
      },
    ]);
    await stream.ended;
    await until('the server call is cancelled', () => server.cancelled.length === 1);
    expect(await status(gateway, { ...JSON_HEADERS, ...session })).toBe(404);
    expect(await status(gateway, { ...JSON_HEADERS, ...session }, 'DELETE')).toBe(404);
  });

  verifies('P6', 'keeps its call while its caller opens more sessions than the limit', async () => {
    const gate = Promise.withResolvers<JsonObject>();
    const server = recordingServer({ wait: () => gate.promise });
    const gateway = await gatewayUnderTest({ servers: { up: server }, gateway: { sessions: { maxPerCaller: 3 } } });
    const call = { id: 1, method: 'tools/call', params: { name: 'mcp__up__wait', arguments: {} } };
    const pending = gateway.post(call, await openSession(gateway));
    await until('the call has arrived', () => server.calls.length === 1);
    for (let count = 0; count < 10; count++)
      expect((await openSession(gateway))['mcp-session-id']).toMatch(/^[\w-]{36}$/);
    gate.resolve(text('done'));
    expect((await pending).json).toEqual({ jsonrpc: '2.0', id: 1, result: text('done') });
  });

  verifies('P6', 'lasts 30 minutes from the end of its last request, also after a longer one', async () => {
    let now = 1_000_000;
    const gate = Promise.withResolvers<JsonObject>();
    const server = recordingServer({ wait: () => gate.promise });
    const gateway = await gatewayUnderTest({
      servers: { up: server },
      gateway: { sessions: { clock: () => now } },
    });
    const session = await openSession(gateway);
    const call = { id: 1, method: 'tools/call', params: { name: 'mcp__up__wait', arguments: {} } };
    const pending = gateway.post(call, session);
    await until('the call has arrived', () => server.calls.length === 1);
    now += 2 * HALF_AN_HOUR;
    gate.resolve(text('done'));
    expect((await pending).json).toMatchObject({ id: 1, result: text('done') });
    now += HALF_AN_HOUR;
    expect(await status(gateway, { ...JSON_HEADERS, ...session })).toBe(200);
  });

  verifies('P6', 'is refused with 429 and a reason if all sessions are in use', async () => {
    const server = recordingServer({ wait: () => new Promise(() => {}) });
    const gateway = await gatewayUnderTest({ servers: { up: server }, gateway: { sessions: { maxPerCaller: 3 } } });
    const call = { id: 1, method: 'tools/call', params: { name: 'mcp__up__wait', arguments: {} } };
    for (let count = 0; count < 3; count++) void gateway.post(call, await openSession(gateway)).catch(() => {});
    await until('the calls have arrived', () => server.calls.length === 3);
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } };
    const { status, headers, json } = await gateway.post({ id: 0, method: 'initialize', params: hello });
    expect([status, headers['mcp-session-id'], json]).toMatchObject([
      429,
      undefined,
      { id: 0, error: { message: expect.stringContaining('3 sessions, all in use') } },
    ]);
  });

  verifies('P6', 'is needed for GET: 405 without a session id, 404 with an unknown one', async () => {
    const gateway = await gatewayUnderTest();
    expect(await status(gateway, JSON_HEADERS, 'GET')).toBe(405);
    expect(await status(gateway, { ...JSON_HEADERS, 'mcp-session-id': 'x' }, 'GET')).toBe(404);
  });
});

function listen({ port }: GatewayUnderTest, session: Record<string, string>): Promise<{ ended: Promise<void> }> {
  return new Promise((resolve, reject) => {
    const headers = { ...JSON_HEADERS, ...session };
    const sent = request(
      { host: '127.0.0.1', port, path: '/mcp', method: 'GET', headers, agent: false },
      (response) => {
        const ended = new Promise<void>((done) => response.resume().once('end', done));
        resolve({ ended });
      },
    );
    sent.on('error', reject).end();
  });
}
