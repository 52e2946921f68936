import fc from 'fast-check';
import { expect, vi } from 'vitest';
import { within } from '../../test/limits.ts';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import { until } from '../../test/until.ts';
import { NO_CAPABILITIES } from '../core/call/client-capabilities.ts';
import type { Caller, Target } from '../core/call.ts';
import { ada, grace } from '../core/fixtures.ts';
import type { Connect } from '../upstream/connection.ts';
import { connectInMemory } from '../upstream/transports/connect-in-memory.ts';
import { openWorld, tool, type World } from './fixtures.ts';
import { pageOf, startUnknownServers } from './list.ts';

const never = new AbortController().signal;
const echo = () => recordingServer({ echo: () => text('hi') });
const names = (world: World) => pageOf(world, ada, { limit: 100 }).items.map(({ publicName }) => publicName);

function pages(world: World, limit: number, between: () => void = () => {}): string[] {
  const seen: string[] = [];
  for (let cursor: string | undefined, more = true; more; ) {
    const page = pageOf(world, ada, { limit, ...(cursor !== undefined && { cursor }) });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    seen.push(...page.items.map(({ name }) => name));
    cursor = page.next;
    more = cursor !== undefined;
    between();
  }
  return seen;
}

verifies('R1', 'pages of any size list every visible tool once, in order', async () => {
  const all = Array.from({ length: 25 }, (_, index) => `tool_${String(index).padStart(2, '0')}`);
  const remembered = [{ server: 'a', tools: all.map((name) => tool(name)) }];
  const world = await openWorld({ a: echo() }, { remembered, hides: ({ name }) => name.endsWith('3') });
  const visible = all.filter((name) => !name.endsWith('3'));
  for (const limit of [1, 2, 7, 22, 23, 100]) expect(pages(world, limit)).toEqual(visible);
});

verifies('R1', 'a cursor stays valid when the catalog changes between pages', async () => {
  const letters = [...'abcdefghijklmnopqrst'];
  const subset = fc.subarray(letters);
  const world = await openWorld({ a: echo() });
  fc.assert(
    fc.property(subset, fc.array(subset, { maxLength: 4 }), fc.integer({ min: 1, max: 5 }), (first, later, limit) => {
      const lists = [first, ...later];
      let at = 0;
      const show = () =>
        world.catalog.update(
          'a',
          (lists[Math.min(at++, later.length)] ?? []).map((name) => tool(name)),
        );
      show();
      const seen = pages(world, limit, show);
      expect(seen).toEqual([...new Set(seen)].sort());
      const always = letters.filter((letter) => lists.every((list) => list.includes(letter)));
      expect(seen).toEqual(expect.arrayContaining(always));
    }),
  );
});

verifies('R1', 'a cursor whose tool is gone continues after its position', async () => {
  const world = await openWorld(
    { a: echo() },
    { remembered: [{ server: 'a', tools: ['a', 'b', 'c'].map((n) => tool(n)) }] },
  );
  const { next } = pageOf(world, ada, { limit: 2 });
  world.catalog.update('a', [tool('a'), tool('c'), tool('d')]);
  const page = pageOf(world, ada, { limit: 2, ...(next !== undefined && { cursor: next }) });
  expect(page.items.map(({ name }) => name)).toEqual(['c', 'd']);
});

verifies('G2', 'a cached page is used only with the same rules, catalog and caller', async () => {
  const tools = [tool('one'), tool('two')];
  const world = await openWorld({ a: echo() }, { remembered: [{ server: 'a', tools }] });
  let [rules, hidden] = [{}, 'none'];
  const visible = (caller: Caller, { name }: Target) => caller.id !== grace.id && name !== hidden;
  const view = { ...world, visible, rules: () => rules };
  const seen = (caller: Caller) => pageOf(view, caller, { limit: 9 }).items.map(({ name }) => name);
  const [first, again] = [pageOf(view, ada, { limit: 9 }), pageOf(view, ada, { limit: 9 })];
  expect(again).toBe(first);
  expect([seen(ada), seen(grace)]).toEqual([['one', 'two'], []]);
  [rules, hidden] = [{}, 'one'];
  expect(seen(ada)).toEqual(['two']);
  world.catalog.update('a', [tool('three')]);
  expect(seen(ada)).toEqual(['three']);
});

verifies('R1', 'lists an invalid tool only with includeInvalid', async () => {
  const tools = [tool('bad', { inputSchema: false }), tool('good')];
  const world = await openWorld({ a: echo() }, { remembered: [{ server: 'a', tools }] });
  const seen = (includeInvalid: boolean) => pageOf(world, ada, { limit: 9, includeInvalid }).items.length;
  expect([seen(false), seen(true)]).toEqual([1, 2]);
});

verifies('T3', 'listing starts only the servers that were never seen', async () => {
  const remembered = [{ server: 'seen', tools: [tool('old')] }];
  const world = await openWorld({ seen: echo(), fresh: echo() }, { remembered });
  await startUnknownServers(world, ada, 2000, never);
  expect(world.started).toEqual(['fresh']);
  expect(names(world)).toEqual(['mcp__fresh__echo', 'mcp__seen__old']);
});

verifies('R1', 'caches a page, but not for a very long cursor', async () => {
  const world = await openWorld({ a: echo() }, { remembered: [{ server: 'a', tools: [tool('one')] }] });
  const rules = {};
  const view = { ...world, rules: () => rules };
  const isRemembered = (cursor: string) => {
    const [first, second] = [1, 2].map(() => pageOf(view, ada, { limit: 1, cursor }));
    return first === second;
  };
  expect([isRemembered('a'), isRemembered('a'.repeat(100_000))]).toEqual([true, false]);
});

verifies('R1', 'a page has at least one item, even with limit 0', async () => {
  const remembered = [{ server: 'a', tools: [tool('one'), tool('two')] }];
  const world = await openWorld({ a: echo() }, { remembered });
  for (const limit of [0, -1]) {
    const { items, next } = pageOf(world, ada, { limit });
    expect([items.length, next]).toEqual([1, 'mcp__a__one']);
  }
});

verifies('T3', 'a server that never answers delays listing by waitMs at most', async () => {
  const silent = { connect: async () => {} };
  const world = await openWorld({ silent, quick: echo() });
  await within(1500, () => startUnknownServers(world, ada, 60, never));
  await until('the other is listed', () => names(world).length > 0);
  expect(names(world)).toEqual(['mcp__quick__echo']);
});

verifies('T3', 'waits without limit for an infinite waitMs, and starts nothing for 0', async () => {
  const gate = Promise.withResolvers<void>();
  const slow: Connect = (options) => gate.promise.then(() => connectInMemory(echo().connect)(options));
  const world = await openWorld({ slow });
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    await startUnknownServers(world, ada, 0, never);
    expect(world.started).toEqual([]);
    const listing = startUnknownServers(world, ada, Number.POSITIVE_INFINITY, never).then(() => names(world));
    await vi.advanceTimersByTimeAsync(10_000);
    gate.resolve();
    expect(await listing).toEqual(['mcp__slow__echo']);
  } finally {
    vi.useRealTimers();
  }
});

verifies(
  'T3',
  'waits once for a server whose remembered tools may lack those for the capabilities of a client',
  async () => {
    const silent = { connect: async () => {} };
    let now = 0;
    const remembered = [{ server: 'silent', tools: [tool('old')] }];
    const world = await openWorld({ silent }, { remembered, clock: () => now });
    const caller = { ...ada, capabilities: { ...NO_CAPABILITIES, form: true } };
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      let isListed = false;
      const listing = startUnknownServers(world, caller, 2000, never).then(() => (isListed = true));
      await vi.advanceTimersByTimeAsync(1999);
      expect([isListed, world.started]).toEqual([false, ['silent']]);
      await vi.advanceTimersByTimeAsync(1);
      await listing;
      now = 2000;
      await startUnknownServers(world, caller, 2000, never);
      expect(names(world)).toEqual(['mcp__silent__old']);
    } finally {
      vi.useRealTimers();
    }
  },
);

/** Starts a list, and returns its state after each pass of time. The clock of the servers passes, too. */
function timed(world: World, passed: { now: number }) {
  const state = { isOver: false };
  const ended = startUnknownServers({ ...world, firstListMs: () => 8000 }, ada, 2000, never).then(() => {
    state.isOver = true;
  });
  const after = async (ms: number) => {
    passed.now += ms;
    await vi.advanceTimersByTimeAsync(ms);
    return state.isOver;
  };
  return { ended, after };
}

verifies('T3', 'waits 8 s in all for a server of which nothing is known, and then 2 s with each list', async () => {
  const passed = { now: 0 };
  const silent = { connect: async () => {} };
  const remembered = [{ server: 'known', tools: [tool('old')] }];
  const world = await openWorld({ silent, known: silent }, { remembered, clock: () => passed.now });
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    const first = timed(world, passed);
    expect([await first.after(5000), await first.after(2999), await first.after(1)]).toEqual([false, false, true]);
    const second = timed(world, passed);
    expect([await second.after(1999), await second.after(1)]).toEqual([false, true]);
    await Promise.all([first.ended, second.ended]);
    expect(world.started).toEqual(['silent']);
  } finally {
    vi.useRealTimers();
  }
});

verifies('T3', 'ends the first list as soon as the slow server has listed its tools', async () => {
  const gate = Promise.withResolvers<void>();
  const slow: Connect = (options) => gate.promise.then(() => connectInMemory(echo().connect)(options));
  const world = await openWorld({ slow });
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    const list = timed(world, { now: 0 });
    expect(await list.after(4000)).toBe(false);
    gate.resolve();
    await list.ended;
    expect(names(world)).toEqual(['mcp__slow__echo']);
  } finally {
    vi.useRealTimers();
  }
});

verifies('T3', 'waits for a server that fails, or has failed, no longer than its failure takes', async () => {
  let tries = 0;
  const gate = Promise.withResolvers<never>();
  const broken: Connect = () => {
    tries++;
    return gate.promise;
  };
  const world = await openWorld({ broken });
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    const first = timed(world, { now: 0 });
    expect(await first.after(3000)).toBe(false);
    gate.reject(new Error('broken'));
    await first.ended;
    await timed(world, { now: 0 }).ended; // No time passes.
    expect(tries).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});

verifies('T3', 'a failing server does not keep the others from being listed', async () => {
  const broken = async () => {
    throw new Error('broken');
  };
  const world = await openWorld({ broken, quick: echo() });
  await startUnknownServers(world, ada, 2000, never);
  expect(names(world)).toEqual(['mcp__quick__echo']);
});

verifies('T3', 'a server that failed before is tried again without waiting for it', async () => {
  let tries = 0;
  const flaky: Connect = ({ signal }) => {
    if (tries++ === 0) return Promise.reject(new Error('broken'));
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('closing'))));
  };
  const world = await openWorld({ flaky });
  await startUnknownServers(world, ada, 20_000, never);
  await startUnknownServers(world, ada, 20_000, never);
  expect(tries).toBe(2);
});

verifies('G2', 'a server whose tools are all denied is not started for listing', async () => {
  const world = await openWorld({ denied: echo(), quick: echo() }, { hidesServer: (server) => server === 'denied' });
  await startUnknownServers(world, ada, 2000, never);
  expect(world.started).toEqual(['quick']);
});

verifies('R7', 'listing refreshes the lists whose ttlMs is over', async () => {
  const world = await openWorld({ a: echo() });
  await world.servers.connect('a', never);
  let looked = 0;
  const connected = () => ({ refreshExpiredLists: () => looked++ }) as never;
  await startUnknownServers({ ...world, servers: { ...world.servers, connected } }, ada, 0, never);
  expect(looked).toBe(1);
});
