import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { capabilitiesKey, NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { JsonObject } from '../../core/call.ts';
import { capabilityLists } from './capability-lists.ts';

const FORM = { ...NO_CAPABILITIES, form: true };
const OPEN = new Promise<void>(() => {});
const fresh = (listed: Promise<void>, closed = OPEN) => ({
  listed,
  closed,
  isFresh: () => true,
  hasLostSession: () => false,
});
const LISTS = { tools: [{ name: 'old' }], resources: [], templates: [], prompts: [] };
const entry = { server: 'demo', capabilitySet: 1, signature: 'sig', era: 'legacy', at: 0, lists: LISTS } as const;

function listsOf(cached: readonly (typeof entry)[] = []) {
  const reported: [number, unknown][] = [];
  const onTools = (capabilitySet: number, tools: readonly JsonObject[]) =>
    void reported.push([capabilitySet, tools.map(({ name }) => name)]);
  const forgotten: number[] = [];
  const onForgotten = (capabilitySet: number) => void forgotten.push(capabilitySet);
  return { lists: capabilityLists({ cached, onTools, onForgotten }), reported, forgotten };
}

it('reports the tools of a capability set when they differ from those it knew', () => {
  const { lists, reported } = listsOf([entry]);
  lists.take(1, [{ name: 'old' }], true);
  expect(reported).toEqual([]);
  lists.take(1, [{ name: 'new' }], true);
  lists.take(1, [{ name: 'new' }], true);
  lists.take(2, [{ name: 'other' }], true);
  expect(reported).toEqual([
    [1, ['new']],
    [2, ['other']],
  ]);
});

it('reports no tools that may be of one user alone, and has a new connection list them', () => {
  const { lists, reported } = listsOf([entry]);
  lists.take(1, [{ name: 'old' }], false);
  expect(lists.listed(FORM)).toBeDefined();
  lists.take(1, [{ name: 'own' }], false);
  expect(reported).toEqual([]);
  expect(lists.listed(FORM)).toBeUndefined();
});

it('knows a capability set from the cache or from a connection, until the shared tools change', async () => {
  const { lists } = listsOf([entry]);
  expect(lists.listed(FORM)).toBeDefined();
  lists.invalidate();
  expect(lists.listed(FORM)).toBeUndefined();
  const listed = Promise.resolve();
  lists.begin(1, fresh(listed));
  expect(lists.listed(FORM)).toBe(listed);
});

it('keeps a capability set over a change of the shared tools while its connection is open', async () => {
  const { lists } = listsOf();
  const closed = Promise.withResolvers<void>();
  lists.begin(1, fresh(Promise.resolve(), closed.promise));
  lists.take(1, [], true);
  lists.invalidate();
  expect(lists.listed(FORM)).toBeDefined();
  closed.resolve();
  await closed.promise;
  expect(lists.listed(FORM)).toBeUndefined();
});

verifies('T8', 'has a new connection list the tools of a capability set after a lost session', async () => {
  for (const isLost of [false, true]) {
    const { lists } = listsOf();
    const closed = Promise.withResolvers<void>();
    lists.begin(1, { ...fresh(Promise.resolve(), closed.promise), hasLostSession: () => isLost });
    lists.take(1, [], true);
    closed.resolve();
    await closed.promise;
    expect(lists.listed(FORM) === undefined).toBe(isLost);
  }
});

it('forgets a connection that listed no tools, but not the next one of the same capability set', async () => {
  const { lists } = listsOf();
  const [listed, closed] = [Promise.resolve(), Promise.withResolvers<void>()];
  lists.begin(1, fresh(listed, closed.promise));
  await listed;
  expect(lists.listed(FORM)).toBeUndefined();

  const next = new Promise<void>(() => {});
  lists.begin(1, fresh(new Promise(() => {}), closed.promise));
  lists.begin(1, fresh(next));
  closed.resolve();
  await closed.promise;
  expect(lists.listed(FORM)).toBe(next);
});

verifies('T13', 'keeps the eight sets with extensions that were used last, and every set without', async () => {
  const { lists, forgotten } = listsOf([entry]);
  const capabilities = (at: number) => ({ ...NO_CAPABILITIES, extensions: { 'com.example/maps': { at } } });
  const setOf = (at: number) => capabilitiesKey(capabilities(at));
  for (let at = 0; at < 8; at++) {
    lists.begin(setOf(at), fresh(Promise.resolve()));
    lists.take(setOf(at), [{ name: `tool${at}` }], true);
  }
  await lists.listed(capabilities(0));
  lists.take(setOf(8), [{ name: 'tool8' }], true);
  expect(forgotten).toEqual([setOf(1)]);
  expect([0, 1, 8].map((at) => lists.toolsFor(capabilities(at))?.[0]?.name)).toEqual(['tool0', undefined, 'tool8']);
  expect(lists.listed(capabilities(1))).toBeUndefined();
  expect([...lists.all()]).toHaveLength(9);
});
