import { afterEach, beforeEach, expect, vi } from 'vitest';
import { newCallId } from '../../src/core/call/call-id.ts';
import type { Call, JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, openSession } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { recordingServer, text } from '../servers/recording-server.ts';
import { temporaryHeddle } from '../temporary-heddle.ts';

const HOUR_MS = 60 * 60_000;

// `Date` alone: timers and `performance` go on by themselves, as they do when a time server sets the clock.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

const stepClock = (ms: number) => vi.setSystemTime(Date.now() + ms);

const heddleWith = (config: JsonObject, servers: Record<string, ReturnType<typeof recordingServer>>) =>
  temporaryHeddle({ env: {}, config, servers });

const callOf = (name: string): Call => ({
  id: newCallId(),
  kind: 'tool',
  name,
  input: {},
  meta: {},
  caller: { id: 'ada', roles: ['owner'], via: 'gateway' },
  options: {},
  signal: new AbortController().signal,
});

verifies('P1', 'a session survives a step of the system clock', async () => {
  const gateway = await gatewayUnderTest();
  const session = await openSession(gateway);
  stepClock(HOUR_MS);
  expect((await gateway.post({ id: 1, method: 'ping' }, session)).status).toBe(200);
});

verifies(
  'G5',
  'a step of the system clock opens no new window of a rate limit, and closes none for longer',
  async () => {
    const config = { limits: { perCaller: { maxCalls: 1, windowMs: 60_000 } } };
    const heddle = await heddleWith(config, { up: recordingServer({ echo: () => text('x') }) });
    await heddle.dispatch(callOf('mcp__up__echo'));
    for (const ms of [HOUR_MS, -2 * HOUR_MS]) {
      stepClock(ms);
      const refused = await heddle.dispatch(callOf('mcp__up__echo')).catch((thrown) => thrown);
      expect(refused).toMatchObject({ code: 'RATE_LIMITED' });
      expect(refused.details.retryAfterMs).toBeLessThanOrEqual(60_000);
    }
  },
);

verifies('R4', 'a step of the system clock does not close a circuit breaker', async () => {
  const failing = recordingServer({ echo: () => new Promise(() => {}) }, () => ({
    annotations: { readOnlyHint: true },
  }));
  const heddle = await heddleWith({}, { up: failing });
  for (let at = 0; at < 5; at++) {
    await expect(heddle.dispatch({ ...callOf('mcp__up__echo'), options: { timeoutMs: 20 } })).rejects.toThrow();
  }
  stepClock(HOUR_MS);
  await expect(heddle.dispatch({ ...callOf('mcp__up__echo'), options: { timeoutMs: 20 } })).rejects.toThrow(
    /not called for now/,
  );
});
