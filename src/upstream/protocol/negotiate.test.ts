import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';
import type { Timer } from '../../core/time.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { Peer } from '../../wire/peer.ts';
import type { Transport } from '../../wire/transport.ts';
import { type NegotiateOptions, negotiate } from './negotiate.ts';

const SILENCE = Symbol('silence');
type Reply = JsonObject | Error | typeof SILENCE;
type Replies = Reply | readonly Reply[];

/** A server that replies by method. It refuses other methods as a legacy server does. */
async function server(replies: Readonly<Record<string, Replies>>) {
  const asked: unknown[] = [];
  const next = (method: string): Reply | undefined => {
    const reply = replies[method];
    const times = asked.filter((one) => (one as unknown[])[0] === method).length;
    return Array.isArray(reply) ? reply[times - 1] : (reply as Reply | undefined);
  };
  const transport: Transport = {
    start: async () => {},
    close: async () => {},
    async send({ id, method, params }) {
      const meta = (params as JsonObject)._meta as JsonObject | undefined;
      asked.push([method, meta?.['io.modelcontextprotocol/protocolVersion']]);
      const reply = next(method as string);
      if (reply === SILENCE) return id === undefined ? new Promise<void>(() => {}) : undefined;
      if (reply instanceof Error && !(reply instanceof RpcError)) throw reply;
      const outcome =
        reply instanceof RpcError
          ? { error: reply.toError() }
          : reply
            ? { result: reply }
            : { error: { code: -32601, message: 'no' } };
      if (id !== undefined) transport.onmessage?.({ jsonrpc: '2.0', id, ...outcome });
    },
  };
  const peer = new Peer(transport, { server: 'demo' });
  await peer.start();
  const methods = () => asked.map((one) => (one as unknown[])[0]);
  return { peer, asked, methods };
}

const options: NegotiateOptions = {
  client: { name: 'heddle', version: '0' },
  deadlineMs: 1000,
  signal: new AbortController().signal,
};
const HELLO = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'old' } };
const MODERN = {
  supportedVersions: ['2027-01-01', '2026-07-28'],
  capabilities: { tools: {} },
  instructions: 'Be kind.',
};
const refusal = (code: 'UPSTREAM_FAILED' | 'AUTH_NEEDED', status: number) =>
  new UpstreamError(code, 'no', { delivered: 'no', details: { status } });

verifies('T11', 'speaks modern from the first call on when the server supports it', async () => {
  const serverInfo = { name: 'new' };
  const found = { ...MODERN, _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } };
  const { peer, asked } = await server({ 'server/discover': found, 'tools/list': {} });
  await expect(negotiate(peer, options)).resolves.toEqual({
    era: 'modern',
    newest: 'modern',
    protocolVersion: '2026-07-28',
    capabilities: { tools: {} },
    serverInfo,
    instructions: 'Be kind.',
  });
  await peer.request('tools/list', {}, options);
  expect(asked).toEqual([
    ['server/discover', '2026-07-28'],
    ['tools/list', '2026-07-28'],
  ]);
});

verifies(
  'T11',
  'falls back to initialize on the same transport, and sets the version before initialized is sent',
  async () => {
    const { peer, asked } = await server({ initialize: HELLO });
    const onLegacyVersion = (version: string) => asked.push(version);
    const agreement = { era: 'legacy', newest: 'legacy', protocolVersion: '2025-06-18' };
    await expect(negotiate(peer, { ...options, onLegacyVersion })).resolves.toMatchObject(agreement);
    expect(asked.flat().filter(Boolean)).toEqual([
      'server/discover',
      '2026-07-28',
      'initialize',
      '2025-06-18',
      'notifications/initialized',
    ]);
  },
);

for (const protocolVersion of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
  verifies('T11', `agrees on ${protocolVersion} with a server that speaks nothing newer`, async () => {
    const { peer } = await server({ initialize: { ...HELLO, protocolVersion } });
    await expect(negotiate(peer, options)).resolves.toMatchObject({ era: 'legacy', protocolVersion });
  });
}

it('rejects an unknown version', async () => {
  const { peer, methods } = await server({ initialize: { ...HELLO, protocolVersion: '1999-01-01' } });
  await expect(negotiate(peer, options)).rejects.toThrow('speaks only 1999-01-01');
  expect(methods()).not.toContain('notifications/initialized');
});

verifies('T11', 'speaks legacy with a server whose discovery has no known version', async () => {
  const { peer } = await server({ 'server/discover': { supportedVersions: ['2027-01-01'] }, initialize: HELLO });
  await expect(negotiate(peer, options)).resolves.toMatchObject({ era: 'legacy' });
});

verifies('T11', 'does not probe a server whose era is known', async () => {
  const legacy = await server({ initialize: HELLO });
  await expect(negotiate(legacy.peer, { ...options, known: 'legacy' })).resolves.toMatchObject({ era: 'legacy' });
  expect(legacy.methods()).toEqual(['initialize', 'notifications/initialized']);
  const modern = await server({ 'server/discover': MODERN });
  await negotiate(modern.peer, { ...options, known: 'modern', probeMs: 0 });
  expect(modern.methods()).toEqual(['server/discover']);
});

verifies('T11', 'probes again when the known era is refused', async () => {
  const renewed = await server({ 'server/discover': MODERN });
  await expect(negotiate(renewed.peer, { ...options, known: 'legacy' })).resolves.toMatchObject({ era: 'modern' });
  const restored = await server({ initialize: HELLO });
  await expect(negotiate(restored.peer, { ...options, known: 'modern' })).resolves.toMatchObject({ era: 'legacy' });
});

verifies('T11', 'initializes a server that ignores the probe, and cancels the probe afterwards', async () => {
  const { peer, methods } = await server({ 'server/discover': SILENCE, initialize: HELLO });
  const agreement = await negotiate(peer, { ...options, probeMs: 20 });
  expect(agreement).toMatchObject({ era: 'legacy', newest: 'legacy' });
  expect(methods()).toEqual(['server/discover', 'initialize', 'notifications/initialized', 'notifications/cancelled']);
});

verifies('T11', 'waits for the probe with the timer it is given, and cancels the timer after a response', async () => {
  const silent = await server({ 'server/discover': SILENCE, initialize: HELLO });
  const delays: number[] = [];
  const soon: Timer = (delayMs, ring) => {
    delays.push(delayMs);
    queueMicrotask(ring);
    return () => {};
  };
  const slow = { ...options, deadlineMs: 60_000, probeMs: 20_000 };
  await expect(negotiate(silent.peer, { ...slow, timer: soon })).resolves.toMatchObject({ era: 'legacy' });
  expect(delays).toEqual([20_000]);

  const modern = await server({ 'server/discover': MODERN });
  let cancelled = 0;
  const never: Timer = () => () => void cancelled++;
  await expect(negotiate(modern.peer, { ...slow, timer: never })).resolves.toMatchObject({ era: 'modern' });
  expect(cancelled).toBe(1);
});

verifies('T11', 'probes once more when the server refuses a version that it lists as supported', async () => {
  const refused = new RpcError(-32022, 'no', { supported: ['2026-07-28'], requested: '2026-07-28' });
  const { peer, asked } = await server({ 'server/discover': [refused, MODERN] });
  await expect(negotiate(peer, options)).resolves.toMatchObject({ era: 'modern', protocolVersion: '2026-07-28' });
  expect(asked).toEqual([
    ['server/discover', '2026-07-28'],
    ['server/discover', '2026-07-28'],
  ]);
  const stubborn = await server({ 'server/discover': refused, initialize: HELLO });
  await expect(negotiate(stubborn.peer, options)).resolves.toMatchObject({ era: 'legacy' });
  expect(stubborn.methods()).toEqual(['server/discover', 'server/discover', 'initialize', 'notifications/initialized']);
});

verifies('T11', 'speaks legacy with a server that lists only legacy versions', async () => {
  const refused = new RpcError(-32022, 'no', { supported: ['2025-06-18'], requested: '2026-07-28' });
  const { peer, methods } = await server({ 'server/discover': refused, initialize: HELLO });
  await expect(negotiate(peer, options)).resolves.toMatchObject({ era: 'legacy' });
  expect(methods()).toEqual(['server/discover', 'initialize', 'notifications/initialized']);
});

verifies('T11', 'speaks modern with a slow server that refuses initialize', async () => {
  const { peer, methods } = await server({ 'server/discover': [SILENCE, MODERN] });
  await expect(negotiate(peer, { ...options, probeMs: 20 })).resolves.toMatchObject({ era: 'modern' });
  expect(methods()).toEqual(['server/discover', 'initialize', 'notifications/cancelled', 'server/discover']);
});

verifies('T11', 'throws the error of initialize when the probe gets no answer', async () => {
  const { peer } = await server({ 'server/discover': SILENCE, initialize: new RpcError(-32601, 'not here') });
  const both = negotiate(peer, { ...options, probeMs: 10, deadlineMs: 500 });
  await expect(both).rejects.toThrow('not here');
  const broken = await server({ 'server/discover': SILENCE, initialize: new RpcError(-32603, 'no key') });
  await expect(negotiate(broken.peer, { ...options, probeMs: 10 })).rejects.toThrow('no key');
  expect(broken.methods()).toEqual(['server/discover', 'initialize', 'notifications/cancelled']);
});

it.each([
  [401, refusal('AUTH_NEEDED', 401)],
  [403, refusal('UPSTREAM_FAILED', 403)],
  [429, refusal('UPSTREAM_FAILED', 429)],
  [500, refusal('UPSTREAM_FAILED', 500)],
])('throws a %s instead of trying initialize', async (_status, refused) => {
  const { peer, methods } = await server({ 'server/discover': refused, initialize: HELLO });
  await expect(negotiate(peer, options)).rejects.toBe(refused);
  expect(methods()).toEqual(['server/discover']);
});

it.each([400, 404, 405, 406])('tries initialize after a %s', async (status) => {
  const { peer } = await server({ 'server/discover': refusal('UPSTREAM_FAILED', status), initialize: HELLO });
  await expect(negotiate(peer, options)).resolves.toMatchObject({ era: 'legacy' });
});

verifies('T3', 'throws when the server does not take `initialized` within the deadline', async () => {
  const { peer } = await server({ initialize: HELLO, 'notifications/initialized': SILENCE });
  const late = { code: 'UPSTREAM_TIMEOUT', delivered: 'no' };
  await expect(negotiate(peer, { ...options, deadlineMs: 50 })).rejects.toMatchObject(late);
  const abort = new AbortController();
  const waiting = negotiate(peer, { ...options, signal: abort.signal, known: 'legacy' });
  await new Promise(setImmediate);
  abort.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
});
