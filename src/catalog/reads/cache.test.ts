import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Caller, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { aCall, ada, aTarget } from '../../core/fixtures.ts';
import { type ReadCache, readCache } from './cache.ts';

const bob: Caller = { ...ada, id: 'bob' };
const at = (uri: string, more: Partial<ResolvedCall> = {}): ResolvedCall =>
  aCall({ kind: 'resource', name: uri, target: aTarget({ kind: 'resource', publicName: uri, name: uri }), ...more });

function setting(value: (uri: string) => JsonObject, max?: number) {
  let now = 0;
  let line: object | undefined = {};
  const asked: string[] = [];
  let gate: Promise<unknown> = Promise.resolve();
  const cache: ReadCache = readCache({ lineOf: () => line, clock: () => now, ...(max !== undefined && { max }) });
  const next = async ({ name, caller }: ResolvedCall): Promise<Result> => {
    asked.push(`${caller.id} ${name}`);
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
    asked,
    read: (call: ResolvedCall) => cache.stage(call, next),
    pass: (ms: number) => (now += ms),
    reconnect: () => (line = {}),
    close: () => (line = undefined),
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

verifies('R7', 'what a server says stays good is not asked for again until it does not', async () => {
  const { read, asked, pass } = setting(lasting(1000));
  const first = await read(at('u:1'));
  expect(first).toMatchObject({ from: { attempts: 1 } });
  pass(400);
  expect(await read(at('u:1'))).toEqual({
    kind: 'complete',
    value: { contents: [{ uri: 'u:1', text: 'x' }], ttlMs: 600 },
    isError: false,
    from: { server: 'demo', attempts: 0, latencyMs: 0, cached: true },
  });
  pass(600);
  await read(at('u:1'));
  expect(asked).toEqual(['ada u:1', 'ada u:1']);
});

verifies('R7', 'what is not said to be public is nobody else’s', async () => {
  for (const scope of [undefined, 'private', 'Public', 'shared']) {
    const { read, asked } = setting(lasting(1000, scope));
    for (const caller of [ada, bob, ada, bob]) await read(at('u:1', { caller }));
    expect(asked).toEqual(['ada u:1', 'bob u:1']);
  }
  const { read, asked } = setting(lasting(1000, 'public'));
  for (const caller of [ada, bob]) await read(at('u:1', { caller }));
  expect(asked).toEqual(['ada u:1']);
});

verifies('R7', 'what nothing is said of, and what is too much, is not kept', async () => {
  const much = { contents: [{ uri: 'u:1', blob: 'x'.repeat(1_000_001) }], ttlMs: 1000 };
  for (const value of [
    { contents: [] },
    { contents: [], ttlMs: 0 },
    { contents: [], ttlMs: -1 },
    { contents: [], ttlMs: '9' },
    much,
    { ttlMs: 9 },
  ]) {
    const { read, asked } = setting(() => value);
    await read(at('u:1'));
    await read(at('u:1'));
    expect(asked).toHaveLength(2);
  }
});

verifies('R7', 'only so much is kept, and what was not used the longest goes first', async () => {
  const { read, asked } = setting(lasting(1000), 2);
  for (const uri of ['u:1', 'u:2', 'u:1', 'u:3', 'u:1', 'u:2']) await read(at(uri));
  expect(asked).toEqual(['ada u:1', 'ada u:2', 'ada u:3', 'ada u:2']);
});

verifies('R7', 'nothing outlives the line it was read on', async () => {
  const { read, asked, reconnect, close } = setting(lasting(1000));
  await read(at('u:1'));
  reconnect();
  await read(at('u:1'));
  close();
  await read(at('u:1'));
  await read(at('u:1'));
  expect(asked).toHaveLength(4);
});

verifies('R7', 'what has changed is forgotten, and so is what was being read meanwhile', async () => {
  const { read, asked, cache, hold } = setting(lasting(1000));
  for (const uri of ['u:1', 'u:2']) await read(at(uri));
  cache.forget('demo', 'u:1');
  cache.forget('other');
  for (const uri of ['u:1', 'u:2']) await read(at(uri));
  expect(asked).toEqual(['ada u:1', 'ada u:2', 'ada u:1']);
  cache.forget('demo');
  const go = hold();
  const reading = read(at('u:2'));
  cache.forget('demo', 'u:2');
  go();
  await reading;
  await read(at('u:2'));
  expect(asked).toHaveLength(5);
});

verifies('R7', 'what came of an answer of the user is not kept, nor used for one', async () => {
  const { read, asked } = setting(lasting(1000));
  const from = { kind: 'upstream', server: 'demo' } as const;
  await read(at('u:1', { continuation: from }));
  await read(at('u:1'));
  await read(at('u:1', { continuation: from }));
  expect(asked).toHaveLength(3);
});

verifies('R7', 'a read that says something else is another read; whose trace it is in is not', async () => {
  const { read, asked } = setting(lasting(1000));
  await read(at('u:1', { meta: { traceparent: 'a' } }));
  await read(at('u:1', { meta: { traceparent: 'b' } }));
  await read(at('u:1', { meta: { locale: 'fr' } }));
  await read(aCall({ ...at('u:1'), kind: 'prompt' }));
  expect(asked).toHaveLength(3);
});
