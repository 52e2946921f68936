import { expect, it } from 'vitest';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { JsonObject } from '../../core/call.ts';
import { capabilityLists } from './capability-lists.ts';

const FORM = { ...NO_CAPABILITIES, form: true };
const OPEN = new Promise<void>(() => {});
const fresh = (listed: Promise<void>, closed = OPEN) => ({ listed, closed, isFresh: () => true });
const lists = { tools: [{ name: 'old' }], resources: [], templates: [], prompts: [] };
const memory = { server: 'demo', abilities: 1, signature: 'sig', era: 'legacy', at: 0, lists } as const;

function listsOf(remembered: readonly (typeof memory)[] = []) {
  const told: [number, unknown][] = [];
  const onTools = (abilities: number, tools: readonly JsonObject[]) =>
    void told.push([abilities, tools.map(({ name }) => name)]);
  return { able: capabilityLists({ remembered, onTools }), told };
}

it('reports the tools of a capability set when they differ from those it knew', () => {
  const { able, told } = listsOf([memory]);
  able.take(1, [{ name: 'old' }], true);
  expect(told).toEqual([]);
  able.take(1, [{ name: 'new' }], true);
  able.take(1, [{ name: 'new' }], true);
  able.take(2, [{ name: 'other' }], true);
  expect(told).toEqual([
    [1, ['new']],
    [2, ['other']],
  ]);
});

it('reports no tools that may be of one user alone, and has a new connection list them', () => {
  const { able, told } = listsOf([memory]);
  able.take(1, [{ name: 'old' }], false);
  expect(able.asked(FORM)).toBeDefined();
  able.take(1, [{ name: 'own' }], false);
  expect(told).toEqual([]);
  expect(able.asked(FORM)).toBeUndefined();
});

it('knows a capability set from memory or from a connection, until the shared tools change', async () => {
  const { able } = listsOf([memory]);
  expect(able.asked(FORM)).toBeDefined();
  able.doubt();
  expect(able.asked(FORM)).toBeUndefined();
  const listed = Promise.resolve();
  able.begin(1, fresh(listed));
  expect(able.asked(FORM)).toBe(listed);
});

it('keeps a capability set over a change of the shared tools while its connection is open', async () => {
  const { able } = listsOf();
  const closed = Promise.withResolvers<void>();
  able.begin(1, fresh(Promise.resolve(), closed.promise));
  able.take(1, [], true);
  able.doubt();
  expect(able.asked(FORM)).toBeDefined();
  closed.resolve();
  await closed.promise;
  expect(able.asked(FORM)).toBeUndefined();
});

it('forgets a connection that listed no tools, but not the next one of the same capability set', async () => {
  const { able } = listsOf();
  const [listed, closed] = [Promise.resolve(), Promise.withResolvers<void>()];
  able.begin(1, fresh(listed, closed.promise));
  await listed;
  expect(able.asked(FORM)).toBeUndefined();

  const next = new Promise<void>(() => {});
  able.begin(1, fresh(new Promise(() => {}), closed.promise));
  able.begin(1, fresh(next));
  closed.resolve();
  await closed.promise;
  expect(able.asked(FORM)).toBe(next);
});
