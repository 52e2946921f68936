import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { capabilitiesKey, NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities, JsonObject } from '../../core/call.ts';
import type { Connection } from '../connection.ts';
import { fakeTime, HELLO, memoryBook, never, planOf, tinyServer, toolCall } from '../fixtures.ts';
import { openServers, type ServersOptions } from '../servers.ts';
import { connectInMemory } from '../transports/connect-in-memory.ts';
import type { ServerPlan } from './plan-server.ts';
import { type ConnectionOwner, PrivateConnections } from './private-connections.ts';

const signal = new AbortController().signal;
const withCapabilities = (...names: (keyof ClientCapabilities)[]): ClientCapabilities => ({
  ...NO_CAPABILITIES,
  ...Object.fromEntries(names.map((name) => [name, true])),
});
const callOf = (id: string, abilities?: ClientCapabilities) =>
  toolCall(
    'do',
    {},
    { caller: { id, roles: ['user'], via: 'gateway' }, ...(abilities && { capabilities: abilities }) },
  );

const modern = {
  'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }),
};

interface Given extends Partial<Pick<ServersOptions, 'user'>> {
  readonly answers?: Parameters<typeof tinyServer>[0];
  readonly plan?: Partial<ServerPlan>;
}

/** One server behind `openServers`, and what each line told it that its user can be asked. */
function world({ answers = {}, plan = {}, user }: Given = {}) {
  const declared: unknown[] = [];
  const tiny = tinyServer({
    initialize({ capabilities }) {
      declared.push(capabilities);
      return HELLO;
    },
    'tools/call': () => ({ content: [] }),
    ...answers,
  });
  const time = fakeTime();
  const servers = openServers({
    plans: [planOf({ connect: connectInMemory(tiny.serve), ...plan })],
    memories: [],
    book: memoryBook(),
    localConcurrency: 3,
    remoteConcurrency: 20,
    ...time,
    user,
    onStatus: () => {},
    onList: () => {},
    onNotification: () => {},
  });
  onTestFinished(() => servers.close());
  const lineFor = (...who: Parameters<typeof callOf>) => servers.lineFor('demo', callOf(...who), signal);
  const ready = (...who: Parameters<typeof callOf>) => servers.ready('demo', callOf(...who));
  return {
    servers,
    tiny,
    time,
    declared,
    lineFor,
    ready,
    privateLines: () => servers.status()[0]?.privateConnections ?? 0,
  };
}

const turn = () => new Promise(setImmediate);

verifies(
  'T10',
  'two principals never share a line that may ask, and each is told exactly what its user can do',
  async () => {
    const { lineFor, ready, servers, declared, privateLines } = world();
    const ada = await lineFor('ada', withCapabilities('form'));
    const grace = await lineFor('grace', withCapabilities('form'));
    const more = await lineFor('ada', withCapabilities('form', 'url', 'sampling', 'samplingTools', 'roots'));
    const plain = await lineFor('ada');
    expect(new Set([ada, grace, more, plain]).size).toBe(4);
    expect(plain).toBe(servers.connected('demo'));
    expect(declared).toEqual([
      {},
      { elicitation: { form: {} } },
      { elicitation: { form: {} } },
      { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} },
    ]);
    expect(await lineFor('ada', withCapabilities('form'))).toBe(ada);
    expect([ready('ada', withCapabilities('form')), ready('grace', withCapabilities('form')), ready('ada')]).toEqual([
      ada,
      grace,
      plain,
    ]);
    expect(ready('ada', withCapabilities('roots'))).toBeUndefined();
    expect(privateLines()).toBe(3);
  },
);

verifies('T10', 'calls that come at once share the opening of their line', async () => {
  const { lineFor, declared } = world();
  const lines = await Promise.all(Array.from({ length: 20 }, () => lineFor('ada', withCapabilities('form'))));
  expect(new Set(lines).size).toBe(1);
  expect(declared).toHaveLength(2);
});

verifies(
  'T10',
  'a server of the newer era has one line for all: each request says what its user can be asked',
  async () => {
    const { lineFor, servers, tiny } = world({ answers: modern });
    const main = await servers.connect('demo', signal);
    expect(await lineFor('ada', withCapabilities('form'))).toBe(main);
    expect(await lineFor('grace', withCapabilities('roots'))).toBe(main);
    expect(tiny.lines).toHaveLength(1);
  },
);

verifies('T10', 'what comes with Heddle is never given a line for asking', async () => {
  const { lineFor, servers } = world({ plan: { scope: 'builtin' } });
  expect(await lineFor('ada', withCapabilities('form'))).toBe(servers.connected('demo'));
});

verifies('T10', 'the only user of a process is asked on the main line, and nobody else is', async () => {
  const { lineFor, declared, servers } = world({
    user: { principal: 'me', capabilities: withCapabilities('form', 'url') },
  });
  expect(await lineFor('me', withCapabilities('form', 'url'))).toBe(servers.connected('demo'));
  expect(await lineFor('me')).toBe(servers.connected('demo'));
  expect(await lineFor('somebody')).not.toBe(servers.connected('demo'));
  expect(declared).toEqual([{ elicitation: { form: {}, url: {} } }, {}]);
});

verifies('T10', 'a line nobody uses is closed after five minutes, one with a call under way is not', async () => {
  const answer = Promise.withResolvers<JsonObject>();
  const { lineFor, privateLines, time, tiny } = world({ answers: { 'tools/call': () => answer.promise } });
  await lineFor('idle', withCapabilities('form'));
  const busy = await lineFor('busy', withCapabilities('form'));
  const sent = busy.send(callOf('busy', withCapabilities('form')));
  await turn();
  time.pass(240_000);
  expect(privateLines()).toBe(2);
  time.pass(90_000);
  expect(privateLines()).toBe(1);
  await tiny.lines[1]?.closed;
  answer.resolve({ content: [] });
  await sent;
  time.pass(330_000);
  expect(privateLines()).toBe(0);
  await busy.closed;
});

verifies('T10', 'a lost line is forgotten, and the next call has another', async () => {
  const { lineFor, ready, tiny } = world();
  const first = await lineFor('ada', withCapabilities('form'));
  await tiny.lines[1]?.close();
  await until('it is forgotten', () => ready('ada', withCapabilities('form')) === undefined);
  expect(await lineFor('ada', withCapabilities('form'))).not.toBe(first);
});

verifies('T10', 'a principal has eight lines at most; those in use stay, an idle one makes room', async () => {
  const { lineFor, privateLines } = world({ answers: { 'tools/call': never } });
  const sets = [...Array(10).keys()].map((n) => {
    const bits = n + 1;
    return { form: !!(bits & 1), url: !!(bits & 2), sampling: !!(bits & 4), samplingTools: !!(bits & 8), roots: false };
  });
  for (const set of sets.slice(0, 8)) {
    const line = await lineFor('ada', set);
    if (set !== sets[7]) void line.send(callOf('ada', set)).catch(() => {});
  }
  await turn();
  const ninth = await lineFor('ada', sets[8]);
  void ninth.send(callOf('ada', sets[8])).catch(() => {});
  await turn();
  expect(privateLines()).toBe(8);
  await expect(lineFor('ada', sets[9])).rejects.toMatchObject({
    code: 'UPSTREAM_UNREACHABLE',
    delivered: 'no',
    message: 'No line to demo can be opened for this call: ada has 8 lines of its own, all in use.',
  });
  await expect(lineFor('grace', sets[9])).resolves.toBeDefined();
});

/** An owner of lines that are real, without the life of a server around them. */
function owner(
  name: string,
  answers: Parameters<typeof tinyServer>[0] = {},
): ConnectionOwner & { lines: Connection[] } {
  const connect = connectInMemory(tinyServer({ 'tools/call': never, ...answers }).serve);
  const lines: Connection[] = [];
  return {
    name,
    plan: planOf({ connect }),
    lines,
    follow: () => undefined,
    async openConnection({ capabilities: abilities = NO_CAPABILITIES }, hear) {
      const line = await connect({
        server: name,
        signal,
        known: 'legacy',
        capabilities: abilities,
        onNotification: hear,
      });
      onTestFinished(() => line.close());
      lines.push(line);
      return line;
    },
  };
}

verifies('T10', 'all principals together have no more lines than there may be', async () => {
  const lines = new PrivateConnections({ clock: Date.now, max: 2 });
  const demo = owner('demo');
  for (const id of ['a', 'b']) void (await lines.open(demo, callOf(id), signal)).send(callOf(id)).catch(() => {});
  await turn();
  await expect(lines.open(demo, callOf('c'), signal)).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
  await lines.end(demo, 'close');
  await expect(lines.open(demo, callOf('c'), signal)).resolves.toBeDefined();
});

verifies('T10', 'a subscribed connection is never closed to make room: a further one is refused', async () => {
  const lines = new PrivateConnections({ clock: Date.now, maxPerPrincipal: 2 });
  const feed = { hear() {}, listed: Promise.resolve(), settle: () => undefined, isWanted: () => true, end() {} };
  const ownerWithFeed = (name: string): ConnectionOwner => ({ ...owner(name), follow: () => feed });
  const [first, second, third] = [ownerWithFeed('a'), ownerWithFeed('b'), ownerWithFeed('c')];
  for (const one of [first, second]) await lines.open(one, callOf('ada'), signal);
  await turn();
  await expect(lines.open(third, callOf('ada'), signal)).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
  expect([first, second, third].map((one) => lines.count(one))).toEqual([1, 1, 0]);
});

it('an opening that fails is heard by all who waited, and tried again once the delay is over', async () => {
  const time = fakeTime();
  const lines = new PrivateConnections(time);
  const demo = owner('demo');
  let fails = true;
  let openings = 0;
  const flaky: ConnectionOwner = {
    ...demo,
    openConnection(user, hear) {
      openings++;
      return fails ? Promise.reject(new Error('no')) : demo.openConnection(user, hear);
    },
  };
  const opens = [lines.open(flaky, callOf('a'), signal), lines.open(flaky, callOf('a'), signal)];
  expect(await Promise.allSettled(opens)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  fails = false;
  time.pass(4999);
  await expect(lines.open(flaky, callOf('b'), signal)).rejects.toThrow('no');
  expect(openings).toBe(1);
  await expect(lines.open(demo, callOf('b'), signal)).resolves.toBeDefined();
  time.pass(1);
  await expect(lines.open(flaky, callOf('a'), signal)).resolves.toBeDefined();
  expect(lines.count(flaky)).toBe(1);
});

verifies('T10', 'a server that does not say during which call it asks gets one call per line', async () => {
  const { lineFor, tiny, privateLines } = world({ answers: { 'tools/call': never } });
  const call = callOf('ada', withCapabilities('form'));
  const first = await lineFor('ada', withCapabilities('form'));
  void first.send(call).catch(() => {});
  await until('it is under way', () => tiny.asked.includes('tools/call'));
  const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { who: { type: 'string' } } } };
  void tiny.lines[1]?.request('elicitation/create', form, { deadlineMs: 120_000 }).catch(() => {});
  await until('it has asked', () => first.sendsUnrelatedRequests());
  const others = await Promise.all([
    lineFor('ada', withCapabilities('form')),
    lineFor('ada', withCapabilities('form')),
  ]);
  expect(new Set([first, ...others]).size).toBe(3);
  await turn();
  // Idle again, so they are used before another is opened.
  expect(others).toContain(await lineFor('ada', withCapabilities('form')));
  expect(privateLines()).toBe(3);
});

verifies('R4', 'every new connection to a server is counted, the private ones too', async () => {
  const { lineFor, servers, tiny } = world();
  expect(servers.connectionsTo('demo')).toBe(0);
  await servers.connect('demo', signal);
  expect(servers.connectionsTo('demo')).toBe(1);
  await Promise.all([lineFor('ada', withCapabilities('form')), lineFor('ada', withCapabilities('form'))]);
  expect(servers.connectionsTo('demo')).toBe(2);
  const main = servers.connected('demo');
  await tiny.lines[0]?.close();
  await main?.closed;
  await servers.connect('demo', signal);
  expect(servers.connectionsTo('demo')).toBe(3);
});

verifies('T10', 'private lines end with the server', async () => {
  const { lineFor, servers, time } = world();
  const line = await lineFor('ada', withCapabilities('form'));
  await servers.disconnect('demo');
  await line.closed;
  const next = await lineFor('ada', withCapabilities('form'));
  expect(next).not.toBe(line);
  await servers.close();
  await next.closed;
  expect(time.timers()).toBe(0);
});

verifies('T10', 'each set of abilities has its own number', () => {
  const names = ['form', 'url', 'sampling', 'samplingTools', 'roots'] as const;
  expect([undefined, NO_CAPABILITIES, ...names.map((name) => withCapabilities(name))].map(capabilitiesKey)).toEqual([
    0, 0, 1, 2, 4, 8, 16,
  ]);
  expect(capabilitiesKey(withCapabilities(...names))).toBe(31);
});
