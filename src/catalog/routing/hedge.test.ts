import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { answers, fails, hangs, openPool } from '../../../test/servers/scripted-pool.ts';
import type { Facts } from '../../core/call/facts.ts';
import type { Result } from '../../core/call.ts';
import { UpstreamError } from '../../core/errors.ts';

const HEDGED = { readOnly: true, hedgeAfterMs: 50 } as const;

verifies(
  'R4',
  'calls a second server after the delay; the first result wins and the other call is cancelled',
  async () => {
    const { send, call, calledServers, calls, time, metrics } = openPool({ a: hangs, b: answers('b') });
    const reported: unknown[] = [];
    const sent = send(call(HEDGED, { onProgress: (progress) => reported.push(progress) }));
    time.pass(49);
    expect(calledServers).toEqual(['a']);
    time.pass(1);
    expect(await sent).toMatchObject({ provenance: { server: 'b', attempts: 2 } });
    expect(calls.map(({ signal, onProgress }) => [signal.aborted, onProgress !== undefined])).toEqual([
      [true, true],
      [false, false],
    ]);
    expect(metrics.server('a').totalCalls).toBe(0);
    expect(time.timers()).toBe(0);
  },
);

verifies('R4', 'calls only the first server if it answers in time', async () => {
  const { send, call, calledServers, time } = openPool({ a: answers('a'), b: answers('b') });
  expect(await send(call(HEDGED))).toMatchObject({ provenance: { server: 'a', attempts: 1 } });
  time.pass(1000);
  expect([calledServers, time.timers()]).toEqual([['a'], 0]);
});

verifies('R4', 'after one of two hedged calls fails, waits for the other; if both fail, calls the next', async () => {
  const first = Promise.withResolvers<Result>();
  const { outcome, call, calledServers, time } = openPool({
    a: () => first.promise,
    b: fails('maybe'),
    c: answers('c'),
  });
  const end = outcome(call(HEDGED));
  time.pass(50);
  await setImmediate();
  expect(calledServers).toEqual(['a', 'b']);
  first.reject(new UpstreamError('UPSTREAM_FAILED', 'It broke.', { delivered: 'maybe' }));
  expect(await end).toBe('c');
  expect(calledServers).toEqual(['a', 'b', 'c']);
});

verifies('R4', 'hedges only repeatable calls, and never without failover', async () => {
  const cautious = async (facts: Partial<Facts>, failover: boolean) => {
    const { send, call, calledServers, time } = openPool({ a: hangs, b: answers('b') });
    const abort = new AbortController();
    const end = send(call(facts, { signal: abort.signal, options: { failover } })).catch((thrown) => thrown.code);
    time.pass(1000);
    abort.abort();
    return [await end, calledServers];
  };
  expect(await cautious({ hedgeAfterMs: 50 }, true)).toEqual(['CALL_CANCELLED', ['a']]);
  expect(await cautious(HEDGED, false)).toEqual(['CALL_CANCELLED', ['a']]);
});

verifies('T6', 'cancels a hedged call at both servers', async () => {
  const { send, call, calls, time } = openPool({ a: hangs, b: hangs });
  const abort = new AbortController();
  const end = send(call(HEDGED, { signal: abort.signal }));
  time.pass(50);
  abort.abort();
  await expect(end).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([true, true]);
});
