import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { CachedServer } from '../../store/server-book.ts';
import { openServerCache } from './server-cache.ts';

const lists = { tools: [], resources: [], templates: [], prompts: [] };
const entry = (capabilitySet: number, signature = 'sig') =>
  ({ server: 'demo', capabilitySet, signature, era: 'legacy', at: 0, lists }) as const;
const demo = { name: 'demo', signature: 'sig' };

const cacheOf = (saved: readonly CachedServer[], sharedSet: number) =>
  openServerCache({ saved, sharedSet, book: { remember: async () => {}, forget: async () => {} } });

verifies('T3', 'does not use the entry of a capability set for a shared connection without capabilities', () => {
  const cache = cacheOf([entry(3)], 0);
  expect(cache.shared(demo)).toBeUndefined();
  expect(cache.withCapabilities(demo)).toEqual([entry(3)]);
  cache.put(entry(0));
  expect(cache.shared(demo)).toEqual(entry(0));
});

verifies(
  'T3',
  'begins with the lists of another capability set, and knows that they are not those of the client',
  () => {
    const withTool = { ...lists, tools: [{ name: 'confirm' }] };
    const cache = cacheOf([{ ...entry(3), lists: withTool }], 0);
    expect([cache.lists(demo), cache.has(demo, 0), cache.has(demo, 3)]).toEqual([withTool, false, true]);
    cache.put(entry(0));
    expect([cache.lists(demo), cache.has(demo, 0)]).toEqual([lists, true]);
    const unseen = cacheOf([], 0);
    expect([unseen.lists(demo), unseen.has(demo, 0)]).toEqual([undefined, true]);
  },
);

verifies('T3', 'uses the entry of the shared capability set, or else the one without capabilities', () => {
  const cache = cacheOf([entry(0), entry(3)], 3);
  expect([cache.shared(demo), cache.withCapabilities(demo)]).toEqual([entry(3), []]);
  expect(cacheOf([entry(0), entry(1)], 3).shared(demo)).toEqual(entry(0));
});

verifies('T3', 'keeps the tools of a legacy server by capability set', () => {
  const shared = cacheOf([entry(0), entry(3)], 0);
  expect([0, 3, 1].map((capabilitySet) => shared.has(demo, capabilitySet))).toEqual([true, true, false]);
  expect(cacheOf([{ ...entry(0), era: 'modern' }], 0).has(demo, 3)).toBe(true);
  const ofSoleUser = cacheOf([entry(0)], 3);
  expect(ofSoleUser.has(demo, 0)).toBe(false);
  ofSoleUser.put(entry(3));
  expect(ofSoleUser.has(demo, 0)).toBe(true);
});

it('ignores the entries of another command or URL', () => {
  const cache = cacheOf([entry(0, 'old'), entry(3, 'old')], 0);
  const found = [cache.shared(demo), cache.withCapabilities(demo), cache.shared({ ...demo, name: 'other' })];
  expect(found).toEqual([undefined, [], undefined]);
});

verifies('C2', 'finds the newest entry of any capability set, whose transport counts for all', () => {
  const cache = cacheOf([entry(0), { ...entry(3), at: 5, urlTransport: 'sse' }], 0);
  expect(cache.newest(demo)).toMatchObject({ capabilitySet: 3, urlTransport: 'sse' });
  expect(cacheOf([entry(3, 'old')], 0).newest(demo)).toBeUndefined();
});

verifies('T3', 'removes the failure of a connected server, also if another process stored it', () => {
  const removed: object[] = [];
  const book = { put: async () => {}, remove: async (failure: object) => void removed.push(failure) };
  const failures = { saved: [], book, shownMs: 60_000, clock: () => 0 };
  openServerCache({ saved: [], book: { remember: async () => {}, forget: async () => {} }, failures }).removeFailure(
    demo,
  );
  expect(removed).toEqual([{ server: 'demo', signature: 'sig' }]);
});
