import { afterEach, beforeEach, expect, vi } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { negotiate } from '../../src/upstream/protocol/negotiate.ts';
import type { Message } from '../../src/wire/json-rpc.ts';
import type { Era } from '../../src/wire/mcp.ts';
import { Peer } from '../../src/wire/peer.ts';
import type { Transport } from '../../src/wire/transport.ts';
import { verifies } from '../requirements.ts';

type Kind = 'legacy' | 'silent' | 'strict' | 'modern' | 'dual';

const HELLO = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'slow' } };
const MODERN = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
const DEADLINE_MS = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server that reads its first message after `startMs`, and answers in the order of arrival. */
function slowServer(kind: Kind, startMs: number) {
  const methods: string[] = [];
  const started = new Promise<void>((resolve) => void setTimeout(resolve, startMs));
  let ended = false;
  const refused = { error: { code: -32601, message: 'no' } };

  function answer(method: string): JsonObject | undefined {
    if (method === 'initialize') return kind === 'modern' ? refused : { result: HELLO };
    if (method === 'server/discover' && (kind === 'modern' || kind === 'dual')) return { result: MODERN };
    if (kind === 'strict') {
      ended = true;
      transport.onclose?.();
    }
    return kind === 'legacy' ? refused : undefined;
  }

  const transport: Transport = {
    start: async () => {},
    close: async () => {},
    async send({ id, method }: Message) {
      methods.push(String(method));
      void started.then(() => {
        const found = id === undefined || ended ? undefined : answer(String(method));
        if (found && id !== undefined) transport.onmessage?.({ jsonrpc: '2.0', id, ...found });
      });
    },
  };
  return { peer: new Peer(transport, { server: 'slow' }), methods };
}

async function agreed(kind: Kind, startMs: number, known?: Era) {
  const { peer, methods } = slowServer(kind, startMs);
  await peer.start();
  const options = { client: { name: 'heddle', version: '0' }, deadlineMs: DEADLINE_MS, known };
  const agreement = negotiate(peer, { ...options, signal: new AbortController().signal });
  const outcome = agreement.then(
    ({ era, newest }) => ({ era, newest }),
    (error: { details?: JsonObject }) => error,
  );
  await vi.advanceTimersByTimeAsync(startMs + 5000);
  return { outcome: await outcome, methods };
}

const LEGACY = { era: 'legacy', newest: 'legacy' };

for (const startMs of [1000, 3000, 10_000, 30_000]) {
  verifies('T11', `negotiates with a server of either era that starts in ${startMs} ms`, async () => {
    expect((await agreed('legacy', startMs)).outcome).toEqual(LEGACY);
    expect((await agreed('silent', startMs)).outcome).toEqual(LEGACY);
    expect((await agreed('modern', startMs)).outcome).toEqual({ era: 'modern', newest: 'modern' });
    expect((await agreed('dual', startMs)).outcome).toMatchObject({ newest: 'modern' });
  });

  verifies('T11', `reports a loss at the probe when a server ends at it, ${startMs} ms after its start`, async () => {
    expect((await agreed('strict', startMs)).outcome).toMatchObject({ details: { lostAtProbe: true } });
    expect((await agreed('strict', startMs, 'legacy')).outcome).toEqual(LEGACY);
  });

  verifies('T11', `sends only requests of the known era to a server that starts in ${startMs} ms`, async () => {
    const modern = await agreed('dual', startMs, 'modern');
    expect(modern).toEqual({ outcome: { era: 'modern', newest: 'modern' }, methods: ['server/discover'] });
    const legacy = await agreed('dual', startMs, 'legacy');
    expect(legacy).toEqual({ outcome: LEGACY, methods: ['initialize', 'notifications/initialized'] });
  });
}

verifies('T11', 'sends only the probe and initialize to a server that has not started yet', async () => {
  const { methods } = await agreed('legacy', 10_000);
  expect(methods).toEqual(['server/discover', 'initialize', 'notifications/initialized']);
});

verifies('T3', 'gives both requests of the handshake one deadline', async () => {
  const { peer } = slowServer('legacy', 120_000);
  const options = { client: { name: 'heddle', version: '0' }, signal: new AbortController().signal };
  const outcome = negotiate(peer, { ...options, deadlineMs: 15_000 }).catch(({ code }) => code);
  await vi.advanceTimersByTimeAsync(15_000);
  await expect(outcome).resolves.toBe('UPSTREAM_TIMEOUT');
});
