import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Caller, DecidedCall, JsonObject, Result } from '../../core/call.ts';
import { aCall, ada, aTarget } from '../../core/fixtures.ts';
import { type CacheOptions, type ReadCache, readCache } from './cache.ts';

const bob: Caller = { ...ada, id: 'bob' };
const at = (uri: string, more: Partial<DecidedCall> = {}): DecidedCall =>
  aCall({ kind: 'resource', name: uri, target: aTarget({ kind: 'resource', publicName: uri, name: uri }), ...more });

function setting(value: (uri: string) => JsonObject, { max, isPerUser }: Partial<CacheOptions> = {}) {
  let now = 0;
  let connection: object | undefined = {};
  const requests: string[] = [];
  let gate: Promise<unknown> = Promise.resolve();
  const cache: ReadCache = readCache({
    connectionOf: () => connection,
    clock: () => now,
    ...(max !== undefined && { max }),
    ...(isPerUser && { isPerUser }),
  });
  const next = async ({ name, caller }: DecidedCall): Promise<Result> => {
    requests.push(`${caller.id} ${name}`);
    await gate;
    return {
      kind: 'complete',
      value: value(name),
      isError: false,
      provenance: { server: 'demo', attempts: 1, latencyMs: 1 },
    };
  };
  return {
    cache,
    requests,
    read: (call: DecidedCall) => cache.stage(call, next),
    pass: (ms: number) => (now += ms),
    reconnect: () => (connection = {}),
    close: () => (connection = undefined),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

const lasting = (ttlMs: number, cacheScope?: string) => (uri: string) => ({
  contents: [{ uri, text: 'x' }],
  ttlMs,
  ...(cacheScope && { cacheScope }),
});

verifies('R7', 'answers from the cache until the ttlMs of the server is over', async () => {
  const { read, requests, pass } = setting(lasting(1000));
  const first = await read(at('u:1'));
  expect(first).toMatchObject({ provenance: { attempts: 1 } });
  pass(400);
  expect(await read(at('u:1'))).toEqual({
    kind: 'complete',
    value: { contents: [{ uri: 'u:1', text: 'x' }], ttlMs: 600 },
    isError: false,
    provenance: { server: 'demo', attempts: 0, latencyMs: 0, cached: true },
  });
  pass(600);
  await read(at('u:1'));
  expect(requests).toEqual(['ada u:1', 'ada u:1']);
});

verifies('R7', 'answers with a ttlMs in whole milliseconds, and 0 below one', async () => {
  const { read, requests, pass } = setting(lasting(1000));
  const ttlMs = async () => ((await read(at('u:1'))) as { value: JsonObject }).value.ttlMs;
  expect(await ttlMs()).toBe(1000);
  pass(0.25);
  expect(await ttlMs()).toBe(999);
  pass(999.5);
  expect(await ttlMs()).toBe(0);
  pass(0.25);
  await ttlMs();
  expect(requests).toHaveLength(2);
});

verifies('R7', 'shares a cached result between principals only with cacheScope public', async () => {
  for (const scope of [undefined, 'private', 'Public', 'shared']) {
    const { read, requests } = setting(lasting(1000, scope));
    for (const caller of [ada, bob, ada, bob]) await read(at('u:1', { caller }));
    expect(requests).toEqual(['ada u:1', 'bob u:1']);
  }
  const { read, requests } = setting(lasting(1000, 'public'));
  for (const caller of [ada, bob]) await read(at('u:1', { caller }));
  expect(requests).toEqual(['ada u:1']);
});

verifies('R7', 'caches no result without a valid ttlMs and none above 1 million characters', async () => {
  const much = { contents: [{ uri: 'u:1', blob: 'x'.repeat(1_000_001) }], ttlMs: 1000 };
  for (const value of [
    { contents: [] },
    { contents: [], ttlMs: 0 },
    { contents: [], ttlMs: -1 },
    { contents: [], ttlMs: '9' },
    much,
    { ttlMs: 9 },
  ]) {
    const { read, requests } = setting(() => value);
    await read(at('u:1'));
    await read(at('u:1'));
    expect(requests).toHaveLength(2);
  }
});

verifies('R7', 'evicts the least recently used entry of a full cache', async () => {
  const { read, requests } = setting(lasting(1000), { max: 2 });
  for (const uri of ['u:1', 'u:2', 'u:1', 'u:3', 'u:1', 'u:2']) await read(at(uri));
  expect(requests).toEqual(['ada u:1', 'ada u:2', 'ada u:3', 'ada u:2']);
});

verifies('R7', 'uses no entry from an earlier connection', async () => {
  const { read, requests, reconnect, close } = setting(lasting(1000));
  await read(at('u:1'));
  reconnect();
  await read(at('u:1'));
  close();
  await read(at('u:1'));
  await read(at('u:1'));
  expect(requests).toHaveLength(4);
});

verifies('R7', 'drops an invalidated entry, and does not cache a read that was in flight', async () => {
  const { read, requests, cache, hold } = setting(lasting(1000));
  for (const uri of ['u:1', 'u:2']) await read(at(uri));
  cache.invalidate({ server: 'demo', uri: 'u:1' });
  cache.invalidate({ server: 'other' });
  for (const uri of ['u:1', 'u:2']) await read(at(uri));
  expect(requests).toEqual(['ada u:1', 'ada u:2', 'ada u:1']);
  cache.invalidate({ server: 'demo' });
  const go = hold();
  const reading = read(at('u:2'));
  cache.invalidate({ server: 'demo', uri: 'u:2' });
  go();
  await reading;
  await read(at('u:2'));
  expect(requests).toHaveLength(5);
});

verifies('A6', 'keeps public results of each principal apart with per-user credentials', async () => {
  const { read, requests, cache } = setting(lasting(1000, 'public'), { isPerUser: () => true });
  for (const caller of [ada, bob, ada, bob]) await read(at('u:1', { caller }));
  expect(requests).toEqual(['ada u:1', 'bob u:1']);
  cache.invalidate({ server: 'demo', uri: 'u:1', principal: 'bob' });
  for (const caller of [ada, bob]) await read(at('u:1', { caller }));
  expect(requests).toEqual(['ada u:1', 'bob u:1', 'bob u:1']);
});

verifies('R7', 'neither caches nor answers a continuation', async () => {
  const { read, requests } = setting(lasting(1000));
  const continuation = { kind: 'upstream', server: 'demo' } as const;
  await read(at('u:1', { continuation }));
  await read(at('u:1'));
  await read(at('u:1', { continuation }));
  expect(requests).toHaveLength(3);
});

verifies('R7', 'distinguishes reads by `_meta`, but not by its trace context', async () => {
  const { read, requests } = setting(lasting(1000));
  await read(at('u:1', { meta: { traceparent: 'a' } }));
  await read(at('u:1', { meta: { traceparent: 'b' } }));
  await read(at('u:1', { meta: { locale: 'fr' } }));
  await read(aCall({ ...at('u:1'), kind: 'prompt' }));
  expect(requests).toHaveLength(3);
});
