import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer } from '../../test/servers/recording-server.ts';
import { until } from '../../test/until.ts';
import type { Authenticate } from './authenticate.ts';
import { type GatewayUnderTest, gatewayUnderTest, JSON_HEADERS, openSession } from './fixtures.ts';
import { openSessions, type Session } from './sessions.ts';

const HALF_AN_HOUR = 30 * 60_000;

function clocked() {
  let now = 1_000_000;
  const sessions = openSessions(() => now);
  return { sessions, later: (ms: number) => (now += ms) };
}

describe('a session', () => {
  it('is found by whoever opened it, and by nobody else', () => {
    const { sessions } = clocked();
    const { id } = sessions.open('ada');
    expect(sessions.find(id, 'ada')?.id).toBe(id);
    expect(sessions.find(id, 'bob')).toBeUndefined();
    expect(sessions.find('other', 'ada')).toBeUndefined();
    expect(sessions.find(undefined, 'ada')).toBeUndefined();
  });

  it('ends half an hour after its last use, whether or not anyone else comes', () => {
    const { sessions, later } = clocked();
    const { id } = sessions.open('ada');
    later(HALF_AN_HOUR);
    expect(sessions.find(id, 'ada')).toBeDefined();
    later(HALF_AN_HOUR);
    expect(sessions.find(id, 'ada')).toBeDefined();
    later(HALF_AN_HOUR + 1);
    expect(sessions.find(id, 'ada')).toBeUndefined();
    expect([...sessions.all()]).toEqual([]);
  });

  it('that still listens neither ends nor keeps others from ending', () => {
    const { sessions, later } = clocked();
    const listening = sessions.open('ada');
    listening.streams.add({ end() {} } as never);
    const idle = sessions.open('bob');
    later(HALF_AN_HOUR + 1);
    sessions.open('eve');
    expect([...sessions.all()]).toContain(listening);
    expect([...sessions.all()]).not.toContain(idle);
  });

  it('makes way for newer ones of its own caller past a thousand, and leaves those of others alone', () => {
    const { sessions } = clocked();
    const others = sessions.open('bob');
    const [first, second] = [sessions.open('ada'), sessions.open('ada')];
    for (let at = 0; at < 999; at++) sessions.open('ada');
    expect(sessions.find(first.id, 'ada')).toBeUndefined();
    expect(sessions.find(second.id, 'ada')).toBe(second);
    for (let at = 0; at < 11_000; at++) sessions.open('ada');
    expect(sessions.find(others.id, 'bob')).toBe(others);
    expect([...sessions.all()]).toHaveLength(1001);
  });

  it('that was used lately outlasts older ones of its caller', () => {
    const { sessions } = clocked();
    const [used, unused] = [sessions.open('ada'), sessions.open('ada')];
    for (let at = 0; at < 998; at++) sessions.open('ada');
    sessions.find(used.id, 'ada');
    sessions.open('ada');
    expect(sessions.find(used.id, 'ada')).toBe(used);
    expect(sessions.find(unused.id, 'ada')).toBeUndefined();
  });

  it('makes room for the ten thousand newest', () => {
    const { sessions } = clocked();
    const first = sessions.open('ada');
    const cancelled: string[] = [];
    first.running.set(1, { cancel: () => cancelled.push('first') } as unknown as Session['running'] extends Map<
      unknown,
      infer R
    >
      ? R
      : never);
    for (let at = 0; at < 10_000; at++) sessions.open(`caller ${at % 100}`);
    expect([...sessions.all()]).toHaveLength(10_000);
    expect(sessions.find(first.id, 'ada')).toBeUndefined();
    expect(cancelled).toEqual(['first']);
  });
});

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
  verifies('P4', 'does not exist for another caller, who can neither use, hear nor end it', async () => {
    const gateway = await gatewayUnderTest({ authenticate: byName });
    const session = await sessionOf(gateway, 'ada');
    for (const method of ['POST', 'GET', 'DELETE']) {
      expect([method, await status(gateway, { ...as('bob'), ...session }, method)]).toEqual([method, 404]);
    }
    expect(await status(gateway, { ...as('ada'), ...session })).toBe(200);
  });

  verifies('P1', 'is ended by DELETE, and its calls and its stream with it', async () => {
    const server = recordingServer({ forever: () => new Promise(() => {}) });
    const gateway = await gatewayUnderTest({ servers: { up: server } });
    const session = await openSession(gateway);
    const call = { id: 1, method: 'tools/call', params: { name: 'mcp__up__forever', arguments: {} } };
    const pending = gateway.post(call, session);
    const stream = await listen(gateway, session);
    await until('the call has arrived', () => server.calls.length === 1);
    expect(await status(gateway, { ...JSON_HEADERS, ...session }, 'DELETE')).toBe(200);
    expect((await pending).text).toBe('');
    await stream.ended;
    await until('the server hears that it is cancelled', () => server.cancelled.length === 1);
    expect(await status(gateway, { ...JSON_HEADERS, ...session })).toBe(404);
    expect(await status(gateway, { ...JSON_HEADERS, ...session }, 'DELETE')).toBe(404);
  });

  verifies('P6', 'is needed for the stream: without one 405, with a lost one 404', async () => {
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
