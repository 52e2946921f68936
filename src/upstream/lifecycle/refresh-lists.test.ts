import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { JsonObject } from '../../core/call.ts';
import { HELLO, serverOf, tinyServer } from '../fixtures.ts';

const signal = new AbortController().signal;
const TOOLS = 'notifications/tools/list_changed';
const RESOURCES = 'notifications/resources/list_changed';
const twoTools = () => ({ tools: [{ name: 'a' }, { name: 'b' }] });
const all = { ...HELLO, capabilities: { tools: {}, resources: {}, prompts: {} } };
const allLists = {
  initialize: () => all,
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'prompts/list': () => ({ prompts: [] }),
};
const count = (requests: readonly string[], method: string) => requests.filter((one) => one === method).length;
const settled = () => new Promise(setImmediate);

verifies('T8', 'fetches a list once after many changes', async () => {
  let names = ['a'];
  const tiny = tinyServer({ 'tools/list': () => ({ tools: names.map((name) => ({ name })) }) });
  const { server, events, time, notes } = serverOf(tiny);
  await server.connect(signal);
  names = ['a', 'b', 'c'];
  for (let n = 0; n < 1000; n++) await tiny.transports[0]?.notify(TOOLS);
  await until('all were received', () => notes.length === 1000);
  time.pass(299);
  await settled();
  expect(count(tiny.requests, 'tools/list')).toBe(1);
  time.pass(1);
  await until('it has refreshed', () => server.status.tools === 3);
  expect(server.status).toMatchObject({ state: 'connected', info: { era: 'legacy' } });
  expect([count(tiny.requests, 'tools/list'), events.filter((event) => event === 'list-changed').length]).toEqual([
    2, 2,
  ]);
  expect(time.timers()).toBe(0);
});

verifies('T8', 'fetches a list after 2 s at most while changes go on', async () => {
  const tiny = tinyServer();
  const { server, time, notes } = serverOf(tiny);
  await server.connect(signal);
  for (let n = 1; n <= 50; n++) {
    await tiny.transports[0]?.notify(TOOLS);
    await until('it was received', () => notes.length === n);
    time.pass(100);
    await settled();
  }
  // Five seconds of changes: one fetch after 2 s, one after 4 s, and the last is still to come.
  expect(count(tiny.requests, 'tools/list')).toBe(3);
});

verifies('T8', 'fetches once more after a fetch with many changes during it', async () => {
  const answers: PromiseWithResolvers<JsonObject>[] = [];
  let first = true;
  const tiny = tinyServer({
    'tools/list'() {
      if (first) return twoTools();
      const answer = Promise.withResolvers<JsonObject>();
      answers.push(answer);
      return answer.promise;
    },
  });
  const { server, time, notes } = serverOf(tiny);
  await server.connect(signal);
  first = false;
  const say = async () => {
    const received = notes.length;
    await tiny.transports[0]?.notify(TOOLS);
    await until('it was received', () => notes.length > received);
    time.pass(3000);
    await settled();
  };
  for (let n = 0; n < 5; n++) await say();
  expect(answers).toHaveLength(1);
  answers[0]?.resolve(twoTools());
  await settled();
  time.pass(300);
  await until('the next list is requested', () => answers.length === 2);
  answers[1]?.resolve(twoTools());
  await settled();
  time.pass(10_000);
  await settled();
  expect(answers).toHaveLength(2);
});

verifies('T8', 'fetches only the list that changed', async () => {
  const tiny = tinyServer(allLists);
  const { server, time, notes } = serverOf(tiny);
  await server.connect(signal);
  tiny.requests.length = 0;
  await tiny.transports[0]?.notify(RESOURCES);
  await until('it was received', () => notes.length === 1);
  time.pass(300);
  await until('both are requested', () => tiny.requests.length === 2);
  expect([...tiny.requests].sort()).toEqual(['resources/list', 'resources/templates/list']);
});

verifies('T8', 'fetches a list again that changed during the connect', async () => {
  const list = Promise.withResolvers<JsonObject>();
  const lists = [() => list.promise, twoTools];
  const tiny = tinyServer({ 'tools/list': () => (lists.shift() ?? twoTools)() });
  const { server, time, notes } = serverOf(tiny);
  const connecting = server.connect(signal);
  await until('the request has arrived', () => tiny.requests.includes('tools/list'));
  await tiny.transports[0]?.notify(TOOLS);
  await until('it was received', () => notes.length === 1);
  list.resolve({ tools: [] });
  await connecting;
  expect(server.status.tools).toBe(0);
  time.pass(300);
  await until('it knows better', () => server.status.tools === 2);
});

verifies('T8', 'fetches lists on the new connection after one dropped before a fetch', async () => {
  const tiny = tinyServer({ 'tools/list': twoTools });
  const { server, time, notes } = serverOf(tiny);
  await server.connect(signal);
  await tiny.transports[0]?.notify(TOOLS);
  await until('it was received', () => notes.length === 1);
  await tiny.transports[0]?.close();
  await until('it has noticed', () => server.connection === undefined);
  await server.connect(signal);
  expect(time.timers()).toBe(0);
  await tiny.transports[1]?.notify(TOOLS);
  await until('it was received', () => notes.length === 2);
  time.pass(300);
  await until('it has refreshed', () => count(tiny.requests, 'tools/list') === 3);
});

it('keeps the old list when a fetch fails, and reports the failure until the next list', async () => {
  let refuse = false;
  const tiny = tinyServer({ 'tools/list': () => (refuse ? Promise.reject(new Error('no')) : twoTools()) });
  const { server, time, notes } = serverOf(tiny);
  await server.connect(signal);
  const change = async (received: number) => {
    await tiny.transports[0]?.notify(TOOLS);
    await until('it was received', () => notes.length === received);
    time.pass(300);
  };
  refuse = true;
  await change(1);
  await until('it says so', () => server.status.reason !== undefined);
  expect(server.status).toMatchObject({
    state: 'connected',
    tools: 2,
    reason: expect.stringMatching(/^Its tools could not be listed/),
  });
  refuse = false;
  await change(2);
  await until('all is well', () => server.status.reason === undefined);
});

it('fetches nothing after close', async () => {
  const tiny = tinyServer();
  const { server, time, notes } = serverOf(tiny);
  await server.connect(signal);
  await tiny.transports[0]?.notify(TOOLS);
  await until('it was received', () => notes.length === 1);
  expect(time.timers()).toBe(1);
  await server.close();
  expect(time.timers()).toBe(0);
});

verifies('T8', 'retries a failed fetch with growing delays, five times at most', async () => {
  let fails = 0;
  const tiny = tinyServer({ 'tools/list': () => (fails-- > 0 ? Promise.reject(new Error('no')) : twoTools()) });
  const { server, time, notes } = serverOf(tiny);
  const listed = () => count(tiny.requests, 'tools/list');
  await server.connect(signal);
  const change = async () => {
    const received = notes.length;
    await tiny.transports[0]?.notify(TOOLS);
    await until('it was received', () => notes.length > received);
    time.pass(300);
    await until('it says so', () => server.status.reason !== undefined);
  };
  fails = 2;
  await change();
  time.pass(1999);
  await settled();
  expect(listed()).toBe(2);
  time.pass(1);
  await until('it is listed again', () => listed() === 3 && time.timers() === 1);
  time.pass(4000);
  await until('all is well', () => server.status.reason === undefined);
  fails = 100;
  await change();
  const before = listed();
  for (let n = 0; n < 20; n++) {
    time.pass(60_000);
    for (let turns = 0; turns < 10; turns++) await settled();
  }
  expect([listed() - before, time.timers()]).toEqual([5, 0]);
});
