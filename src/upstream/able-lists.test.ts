import { expect, it } from 'vitest';
import { NO_ABILITIES } from '../core/abilities.ts';
import type { JsonObject } from '../core/call.ts';
import { ableLists } from './able-lists.ts';

const FORM = { ...NO_ABILITIES, form: true };
const OPEN = new Promise<void>(() => {});
const lists = { tools: [{ name: 'old' }], resources: [], templates: [], prompts: [] };
const memory = { server: 'demo', abilities: 1, signature: 'sig', era: 'legacy', at: 0, lists } as const;

function listsOf(remembered: readonly (typeof memory)[] = []) {
  const told: [number, unknown][] = [];
  const onTools = (abilities: number, tools: readonly JsonObject[]) =>
    void told.push([abilities, tools.map(({ name }) => name)]);
  return { able: ableLists({ remembered, onTools }), told };
}

it('reports the tools of a capability set when they differ from those it knew', () => {
  const { able, told } = listsOf([memory]);
  able.take(1, [{ name: 'old' }]);
  expect(told).toEqual([]);
  able.take(1, [{ name: 'new' }]);
  able.take(1, [{ name: 'new' }]);
  able.take(2, [{ name: 'other' }]);
  expect(told).toEqual([
    [1, ['new']],
    [2, ['other']],
  ]);
});

it('knows a capability set from memory or from a connection, until the shared tools change', async () => {
  const { able } = listsOf([memory]);
  expect(able.asked(FORM)).toBeDefined();
  able.doubt();
  expect(able.asked(FORM)).toBeUndefined();
  const listed = Promise.resolve();
  able.begin(1, listed, OPEN);
  expect(able.asked(FORM)).toBe(listed);
});

it('forgets a connection that closed before it listed anything', async () => {
  const { able } = listsOf();
  const closed = Promise.withResolvers<void>();
  able.begin(1, Promise.resolve(), closed.promise);
  closed.resolve();
  await closed.promise;
  expect(able.asked(FORM)).toBeUndefined();
  able.begin(1, Promise.resolve(), closed.promise);
  able.take(1, []);
  await closed.promise;
  expect(able.asked(FORM)).toBeDefined();
});
