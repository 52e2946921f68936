import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
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
  return { lists: capabilityLists({ cached, onTools }), reported };
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
