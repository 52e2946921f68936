import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { capabilitiesKey, NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { Caller, JsonObject } from '../../core/call.ts';
import { HELLO, never, type TinyServer } from '../fixtures.ts';
import { callOf, openPool, turn, withCapabilities } from './fixtures.ts';

const signal = new AbortController().signal;
const modern = {
  'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }),
};

verifies(
  'T10',
  'gives each principal and capability set a private connection that declares exactly these capabilities',
  async () => {
    const { connectionFor, ready, servers, declared, privateCount } = openPool();
    const ada = await connectionFor('ada', withCapabilities('form'));
    const grace = await connectionFor('grace', withCapabilities('form'));
    const more = await connectionFor('ada', withCapabilities('form', 'url', 'sampling', 'samplingTools', 'roots'));
    const plain = await connectionFor('ada');
    expect(new Set([ada, grace, more, plain]).size).toBe(4);
    expect(plain).toBe(servers.connected('demo'));
    expect(declared).toEqual([
      {},
      { elicitation: { form: {} } },
      { elicitation: { form: {} } },
      { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} },
    ]);
    expect(await connectionFor('ada', withCapabilities('form'))).toBe(ada);
    expect([ready('ada', withCapabilities('form')), ready('grace', withCapabilities('form')), ready('ada')]).toEqual([
      ada,
      grace,
      plain,
    ]);
    expect(ready('ada', withCapabilities('roots'))).toBeUndefined();
    expect(privateCount()).toBe(3);
  },
);

verifies('T10', 'opens one private connection for concurrent calls', async () => {
  const { connectionFor, declared } = openPool();
  const connections = await Promise.all(
    Array.from({ length: 20 }, () => connectionFor('ada', withCapabilities('form'))),
  );
  expect(new Set(connections).size).toBe(1);
  expect(declared).toHaveLength(2);
});

verifies('T13', 'queues at most four capability sets of one principal for the list of tools of a server', async () => {
  const extensions = { 'com.example/maps': {} };
  const declared: unknown[] = [];
  const initialize = ({ capabilities }: JsonObject) => {
    declared.push(capabilities);
    return { ...HELLO, capabilities: { tools: {}, extensions } };
  };
  const { servers } = openPool({ answers: { initialize } });
  await servers.connect('demo', signal);
  const discover = (id: string, zoom: number) => {
    const capabilities = { ...NO_CAPABILITIES, extensions: { 'com.example/maps': { zoom } } };
    return servers.discoverToolsLater(['demo'], { caller: { id, roles: ['user'], via: 'gateway' }, capabilities });
  };
  for (let zoom = 0; zoom < 100; zoom++) void discover('mallory', zoom);
  await discover('grace', 100);
  expect(declared.map((one) => JSON.stringify(one).replace(/\D/g, ''))).toEqual(['', '0', '1', '2', '3', '100']);
  await discover('mallory', 50);
  expect(declared).toHaveLength(7);
});

verifies('P1', 'shows no client the instructions of a handshake with the capabilities of another', async () => {
  const initialize = ({ capabilities }: JsonObject) => ({ ...HELLO, instructions: JSON.stringify(capabilities) });
  const { connectionFor, servers } = openPool({ answers: { initialize } });
  await connectionFor('mallory', {
    ...withCapabilities('form'),
    extensions: { 'com.example/maps': { text: 'Obey.' } },
  });
  const grace: Caller = { id: 'grace', roles: ['user'], via: 'gateway' };
  expect(servers.instructionsOf('demo', grace)).toBe('{}');
});

verifies('T10', 'uses one connection to a modern server for all clients', async () => {
  const { connectionFor, servers, tiny } = openPool({ answers: modern });
  const shared = await servers.connect('demo', signal);
  expect(await connectionFor('ada', withCapabilities('form'))).toBe(shared);
  expect(await connectionFor('grace', withCapabilities('roots'))).toBe(shared);
  expect(tiny.transports).toHaveLength(1);
});

verifies('T10', 'uses the shared connection for every call to a built-in server', async () => {
  const { connectionFor, servers } = openPool({ plan: { scope: 'builtin' } });
  expect(await connectionFor('ada', withCapabilities('form'))).toBe(servers.connected('demo'));
});

verifies('T10', 'uses the shared connection for the sole user, and a private one for another principal', async () => {
  const { connectionFor, declared, servers } = openPool({
    user: { principal: 'me', capabilities: withCapabilities('form', 'url') },
  });
  expect(await connectionFor('me', withCapabilities('form', 'url'))).toBe(servers.connected('demo'));
  expect(await connectionFor('me')).toBe(servers.connected('demo'));
  expect(await connectionFor('another')).not.toBe(servers.connected('demo'));
  expect(declared).toEqual([{ elicitation: { form: {}, url: {} } }, {}]);
});

verifies(
  'T10',
  'closes the private connection of a stateless client after 5 minutes, unless a call is in flight',
  async () => {
    const answer = Promise.withResolvers<JsonObject>();
    const { connectionFor, privateCount, time, tiny } = openPool({ answers: { 'tools/call': () => answer.promise } });
    await connectionFor('idle', withCapabilities('form'));
    const busy = await connectionFor('busy', withCapabilities('form'));
    const sent = busy.send(callOf('busy', withCapabilities('form')));
    await turn();
    time.pass(240_000);
    expect(privateCount()).toBe(2);
    time.pass(90_000);
    expect(privateCount()).toBe(1);
    await tiny.transports[1]?.closed;
    answer.resolve({ content: [] });
    await sent;
    time.pass(330_000);
    expect(privateCount()).toBe(0);
    await busy.closed;
  },
);

verifies('T10', 'opens a new private connection after one was lost', async () => {
  const { connectionFor, ready, tiny } = openPool();
  const first = await connectionFor('ada', withCapabilities('form'));
  await tiny.transports[1]?.close();
  await until('it is forgotten', () => ready('ada', withCapabilities('form')) === undefined);
  expect(await connectionFor('ada', withCapabilities('form'))).not.toBe(first);
});

verifies(
  'T10',
  'allows 16 private connections of a principal to a server, and closes an idle one for another',
  async () => {
    const { connectionFor, privateCount } = openPool({ answers: { 'tools/call': never } });
    const sets = [...Array(18).keys()].map((n) => {
      const has = (bit: number) => ((n + 1) & bit) > 0;
      return { form: has(1), url: has(2), sampling: has(4), samplingTools: has(8), roots: has(16) };
    });
    for (const set of sets.slice(0, 16)) {
      const connection = await connectionFor('ada', set);
      if (set !== sets[15]) void connection.send(callOf('ada', set)).catch(() => {});
    }
    await turn();
    const next = await connectionFor('ada', sets[16]);
    void next.send(callOf('ada', sets[16])).catch(() => {});
    await turn();
    expect(privateCount()).toBe(16);
    await expect(connectionFor('ada', sets[17])).rejects.toMatchObject({
      code: 'UPSTREAM_UNREACHABLE',
      delivered: 'no',
      message: 'No connection to demo can be opened for this call: ada has 16 private connections to it, all in use.',
    });
    await expect(connectionFor('grace', sets[17])).resolves.toBeDefined();
  },
);

verifies('T10', 'gives a server that sends unrelated requests one call per private connection', async () => {
  const { connectionFor, tiny, privateCount } = openPool({ answers: { 'tools/call': never } });
  const call = callOf('ada', withCapabilities('form'));
  const first = await connectionFor('ada', withCapabilities('form'));
  void first.send(call).catch(() => {});
  await until('it is in flight', () => tiny.requests.includes('tools/call'));
  const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { who: { type: 'string' } } } };
  void tiny.transports[1]?.request('elicitation/create', form, { deadlineMs: 120_000 }).catch(() => {});
  await until('it has sent a request', () => first.sendsUnrelatedRequests());
  const others = await Promise.all([
    connectionFor('ada', withCapabilities('form')),
    connectionFor('ada', withCapabilities('form')),
  ]);
  expect(new Set([first, ...others]).size).toBe(3);
  await turn();
  // These are idle again, so no new one is opened.
  expect(others).toContain(await connectionFor('ada', withCapabilities('form')));
  expect(privateCount()).toBe(3);
});

verifies(
  'T10',
  'gives calls of one session, and calls without input requests, a connection that is in use',
  async () => {
    const { servers, connectionFor, tiny, privateCount } = openPool({ answers: { 'tools/call': never } });
    const form = withCapabilities('form');
    const inSession = (session: string) => {
      const call = callOf('ada', form);
      return { ...call, caller: { ...call.caller, session } };
    };
    const first = await servers.connectionFor('demo', inSession('one'), signal);
    void first.send(inSession('one')).catch(() => {});
    await until('it is in flight', () => tiny.requests.includes('tools/call'));
    const elicitation = {
      message: 'Who?',
      requestedSchema: { type: 'object', properties: { who: { type: 'string' } } },
    };
    void tiny.transports[1]?.request('elicitation/create', elicitation, { deadlineMs: 120_000 }).catch(() => {});
    await until('it has sent a request', () => first.sendsUnrelatedRequests());
    expect(await servers.connectionFor('demo', inSession('one'), signal)).toBe(first);
    const { capabilities, ...reading } = callOf('ada', form);
    const caller = { ...reading.caller, ...(capabilities && { capabilities }) };
    for (const reader of [caller, { ...caller, session: 'two' }]) {
      expect(await servers.connectionFor('demo', { ...reading, caller: reader }, signal)).toBe(first);
    }
    expect(await servers.connectionFor('demo', inSession('one'), signal)).toBe(first);
    const second = await servers.connectionFor('demo', inSession('two'), signal);
    expect(second).not.toBe(first);
    expect(await connectionFor('ada', form)).not.toBe(first);
    expect(privateCount()).toBe(3);
    // A call waits for the connection that a list opens.
    const listing = callOf('ada', withCapabilities('form', 'url'));
    const { caller: lister, capabilities: listed = NO_CAPABILITIES } = listing;
    const list = servers.discoverTools('demo', { caller: lister, capabilities: listed }, signal);
    await Promise.all([list, servers.connectionFor('demo', listing, signal)]);
    expect(privateCount()).toBe(4);
  },
);

verifies('R4', 'counts every new connection to a server, private ones included', async () => {
  const { connectionFor, servers, tiny } = openPool();
  expect(servers.connectionsTo('demo')).toBe(0);
  await servers.connect('demo', signal);
  expect(servers.connectionsTo('demo')).toBe(1);
  await Promise.all([connectionFor('ada', withCapabilities('form')), connectionFor('ada', withCapabilities('form'))]);
  expect(servers.connectionsTo('demo')).toBe(2);
  const shared = servers.connected('demo');
  await tiny.transports[0]?.close();
  await shared?.closed;
  await servers.connect('demo', signal);
  expect(servers.connectionsTo('demo')).toBe(3);
});

verifies('T10', 'closes private connections with their server', async () => {
  const { connectionFor, servers, time } = openPool();
  const connection = await connectionFor('ada', withCapabilities('form'));
  await servers.disconnect('demo');
  await connection.closed;
  const next = await connectionFor('ada', withCapabilities('form'));
  expect(next).not.toBe(connection);
  await servers.close();
  await next.closed;
  expect(time.timers()).toBe(0);
});

verifies('T10', 'encodes each capability set as its own number', () => {
  const names = ['form', 'url', 'sampling', 'samplingTools', 'roots'] as const;
  expect([undefined, NO_CAPABILITIES, ...names.map((name) => withCapabilities(name))].map(capabilitiesKey)).toEqual([
    0, 0, 1, 2, 4, 8, 16,
  ]);
  expect(capabilitiesKey(withCapabilities(...names))).toBe(31);
});

verifies(
  'T10',
  'a change of roots opens no connection, and reaches no other caller and no shared connection',
  async () => {
    const { servers, connectionFor, tiny } = openPool();
    const capabilities = withCapabilities('roots', 'rootsListChanged');
    const [ada, grace] = ['ada', 'grace'].map((id) => ({ ...callOf(id).caller, session: 's' }));
    servers.rootsChanged(ada as Caller);
    expect(tiny.transports).toHaveLength(0);
    await connectionFor('ada');
    await servers.connectionFor('demo', { caller: grace as Caller, capabilities }, signal);
    servers.rootsChanged(ada as Caller);
    await turn();
    expect(toldIn(tiny)).toBe(0);
    servers.rootsChanged(grace as Caller);
    await until('the server of grace is told', () => toldIn(tiny) === 1);
    expect(tiny.transports).toHaveLength(2);
  },
);

verifies('T10', 'a modern server gets no change of roots', async () => {
  const capabilities = withCapabilities('roots', 'rootsListChanged');
  const user = { principal: 'ada', capabilities };
  const { servers, tiny } = openPool({ answers: modern, user });
  const caller = { ...callOf('ada').caller, session: 's' };
  const connection = await servers.connectionFor('demo', { caller, capabilities }, signal);
  servers.rootsChanged(caller);
  await connection.notify('test/sent', {}, signal);
  await until('it has arrived', () => tiny.notifications.some(([method]) => method === 'test/sent'));
  expect(toldIn(tiny)).toBe(0);
});

const toldIn = ({ notifications }: TinyServer) =>
  notifications.filter(([method]) => method === 'notifications/roots/list_changed').length;
