import { expect } from 'vitest';
import type { Result } from '../../src/core/call.ts';
import { HeddleError } from '../../src/core/errors.ts';
import { aCall, aTarget } from '../../src/core/fixtures.ts';
import { verifies } from '../requirements.ts';
import { answers, fails, hangs, openPool, times } from '../servers/scripted-pool.ts';

verifies('R4', 'a tool that fails five times in a row is refused for 30 s, then probed once', async () => {
  const { behaviours, calledServers, time, send, call, outcome } = openPool({ a: fails() });
  await times(5, outcome);
  await expect(send(call())).rejects.toMatchObject({
    code: 'UPSTREAM_UNREACHABLE',
    delivered: 'no',
    message: 'a is not called for now: mcp__p__t failed there five times in a row.',
    details: { server: 'a', retryAfterMs: 30_000 },
    fix: expect.stringContaining('Call again in 30 s'),
  });
  expect(calledServers).toHaveLength(5);
  time.pass(30_000);
  expect(await outcome()).toBe('UPSTREAM_FAILED');
  expect(await outcome()).toBe('UPSTREAM_UNREACHABLE');
  time.pass(30_000);
  behaviours.a = answers('a');
  expect([await outcome(), await outcome()]).toEqual(['a', 'a']);
});

verifies('R4', 'only one of several callers gets the probe', async () => {
  const { behaviours, calledServers, time, outcome } = openPool({ a: fails() });
  await times(5, outcome);
  time.pass(30_000);
  const answer = Promise.withResolvers<Result>();
  behaviours.a = () => answer.promise;
  const first = outcome();
  expect(await outcome()).toBe('UPSTREAM_UNREACHABLE');
  answer.resolve(await answers('a')(aCall()));
  expect(await first).toBe('a');
  expect(calledServers).toHaveLength(6);
});

verifies('R4', 'calls that one lost connection failed count once, and a new connection is probed at once', async () => {
  const { behaviours, connections, outcome } = openPool({ a: fails('maybe', { connectionLost: true }) });
  const crash = (calls: number) => Promise.all(Array.from({ length: calls }, () => outcome()));
  for (let crashes = 0; crashes < 5; crashes++) expect(new Set(await crash(9))).toEqual(new Set(['OUTCOME_UNKNOWN']));
  expect(await outcome()).toBe('UPSTREAM_UNREACHABLE');
  connections.opened++;
  behaviours.a = answers('a');
  expect([await outcome(), await outcome()]).toEqual(['a', 'a']);
});

verifies('R4', 'a write fails over from a refused server without counting as a retry', async () => {
  const { calledServers, send, call } = openPool({ a: fails('maybe'), b: answers('b') });
  await times(5, () => send(call()).catch(() => {}));
  expect(calledServers).toEqual(['a', 'a', 'a', 'a', 'a']);
  expect(await send(call())).toMatchObject({ provenance: { server: 'b', attempts: 1 } });
});

verifies('R4', 'results with isError, refusals and cancelled calls never open the breaker', async () => {
  const refuses = fails('maybe', {}, 'UPSTREAM_REFUSED');
  for (const behaviour of [answers('a', true), refuses]) {
    const { calledServers, outcome } = openPool({ a: behaviour });
    await times(9, outcome);
    expect(calledServers).toHaveLength(9);
  }
  const { calledServers, outcome, call } = openPool({ a: hangs });
  await times(9, async () => {
    const abort = new AbortController();
    const given = outcome(call({}, { signal: abort.signal }));
    abort.abort();
    expect(await given).toBe('CALL_CANCELLED');
  });
  expect(calledServers).toHaveLength(9);
});

verifies('R4', 'a server that sends retryAfterMs is refused until then, with all its tools', async () => {
  const { behaviours, calledServers, time, outcome, call } = openPool({
    a: fails('no', { retryAfterMs: 2000 }),
    b: answers('b'),
  });
  expect(await outcome()).toBe('b');
  behaviours.a = answers('a');
  time.pass(1999);
  const other = { target: aTarget({ servers: ['a', 'b'], name: 'other' }) };
  expect([await outcome(), await outcome(call({}, other))]).toEqual(['b', 'b']);
  expect(calledServers).toEqual(['a', 'b', 'b', 'b']);
  time.pass(1);
  expect(await outcome()).toBe('a');
});

verifies('R4', 'throws the refusal with the shortest wait if all servers are refused', async () => {
  const later = (retryAfterMs: number) => fails('no', { retryAfterMs });
  const { calledServers, send, call, outcome } = openPool({ a: later(9000), b: later(4000), c: later(7000) });
  await outcome();
  await expect(send(call())).rejects.toMatchObject({ details: { server: 'b', retryAfterMs: 4000 } });
  expect(calledServers).toEqual(['a', 'b', 'c']);
});

verifies('R4', 'calls fail with the first server’s error when the retry budget is spent', async () => {
  const { behaviours, calledServers, outcome, time } = openPool({ a: fails(), b: answers('b') });
  // An answer now and then, so that the breaker stays out of it.
  const round = async () => {
    behaviours.a = fails();
    const ends = [await outcome(), await outcome()];
    behaviours.a = answers('a');
    await outcome();
    return ends;
  };
  for (let done = 0; done < 5; done++) expect(await round()).toEqual(['b', 'b']);
  calledServers.length = 0;
  expect(await round()).toEqual(['UPSTREAM_FAILED', 'UPSTREAM_FAILED']);
  expect(calledServers).toEqual(['a', 'a', 'a']);
  time.pass(10_000);
  expect(await round()).toEqual(['b', 'b']);
});

verifies('R5', 'counts every server that was called, but no cancelled call', async () => {
  const { metrics, outcome, call, behaviours } = openPool({ a: fails(), b: answers('b', true) });
  await outcome();
  const aborted = AbortSignal.abort();
  behaviours.a = fails();
  await outcome(call({}, { signal: aborted }));
  expect(metrics.rows()).toMatchObject([
    { server: 'a', totalCalls: 1, successRate: 0, errorCount: 1, toolErrors: 0 },
    { server: 'a', tool: 't', totalCalls: 1 },
    { server: 'b', totalCalls: 1, successRate: 1, errorCount: 0, toolErrors: 1, avgLatencyMs: 5 },
    { server: 'b', tool: 't', totalCalls: 1 },
  ]);
  expect(metrics.server('a').lastCallTime).toBe(1_000_000);
});

verifies('R5', 'counts a refusal as an error, and an input request not at all', async () => {
  const refuses = fails('maybe', {}, 'UPSTREAM_REFUSED');
  const { metrics, outcome, behaviours } = openPool({ a: refuses });
  await outcome();
  behaviours.a = async () => ({
    kind: 'input-required',
    inputRequests: {},
    continuation: { kind: 'upstream', server: 'a' },
  });
  await outcome();
  expect(metrics.server('a')).toMatchObject({ totalCalls: 1, errorCount: 1 });
});

verifies('R5', 'counts reads for their server, not by name', async () => {
  const { metrics, outcome, call } = openPool({ a: answers('a') });
  await outcome(call({}, { kind: 'resource' }));
  expect(metrics.rows()).toMatchObject([{ server: 'a', totalCalls: 1 }]);
});

verifies('G5', 'skips a server of a pool that is over its rate limit, and counts the called server', async () => {
  const counted: string[] = [];
  const admitTo = (server: string) => {
    const used = counted.filter((one) => one === server).length;
    if (used >= 2)
      return new HeddleError('RATE_LIMITED', `${server} has used up its calls.`, { details: { retryAfterMs: 5 } });
    counted.push(server);
    return undefined;
  };
  const { outcome } = openPool({ a: answers('a'), b: answers('b') }, { admitTo });
  const ends: string[] = [];
  await times(5, async () => ends.push(await outcome()));
  expect(ends).toEqual(['a', 'a', 'b', 'b', 'RATE_LIMITED']);
  expect(counted).toEqual(['a', 'a', 'b', 'b']);
});

verifies('R3', 'renames arguments only for the server with other argument names', async () => {
  const { send, calls, behaviours } = openPool({ a: answers('a'), b: answers('b') });
  const definition = { name: 'find', inputSchema: { type: 'object', properties: { q: {} } } };
  const equivalents = new Map([['b', { name: 'find', definition, rename: { query: 'q', q: 'query' } }]]);
  const target = aTarget({ publicName: 'mcp__p__search', servers: ['a', 'b'], name: 'search', equivalents });
  const call = aCall({ target, input: { query: 'x', limit: 3 } });
  await send(call);
  behaviours.a = fails();
  expect(await send(call)).toMatchObject({ provenance: { server: 'b', attempts: 2 } });
  const told = calls.map(({ target, input }) => [target.name, input]);
  const [asWritten, renamed] = [
    ['search', { query: 'x', limit: 3 }],
    ['find', { q: 'x', limit: 3 }],
  ];
  expect(told).toEqual([asWritten, asWritten, renamed]);
  expect(calls[2]?.target).toMatchObject({ publicName: 'mcp__p__search', definition });
});

verifies('R4', 'another server of the same name starts with a closed breaker', async () => {
  const isNow = (signature: string) => [{ name: 'a', signature }];
  for (const failing of [fails(), fails('no', { retryAfterMs: 60_000 })]) {
    const { behaviours, metrics, outcome } = openPool({ a: failing });
    metrics.meet(isNow('first'));
    await times(5, outcome);
    expect(await outcome()).toBe('UPSTREAM_UNREACHABLE');
    behaviours.a = answers('a');
    metrics.meet(isNow('first'));
    expect(await outcome()).toBe('UPSTREAM_UNREACHABLE');
    metrics.meet(isNow('second'));
    expect(await outcome()).toBe('a');
  }
});

verifies('R5', 'counts a task once, with its whole duration', async () => {
  const next = { kind: 'task', server: 'a', taskId: 't1', pollMs: 1000 } as const;
  const working = async (): Promise<Result> => ({ kind: 'working', task: {}, continuation: next });
  for (const [ends, counted] of [
    [answers('a'), { totalCalls: 1, errorCount: 0, avgLatencyMs: 60_000 }],
    [fails('maybe', { task: {} }, 'UPSTREAM_REFUSED'), { totalCalls: 1, errorCount: 1 }],
  ] as const) {
    const { behaviours, metrics, outcome, call, time } = openPool({ a: working });
    const look = () => outcome(call({}, { continuation: next }));
    await outcome();
    time.pass(60_000);
    await look();
    behaviours.a = fails('maybe');
    await look();
    expect(metrics.server('a').totalCalls).toBe(0);
    behaviours.a = ends;
    await times(2, look);
    expect(metrics.server('a')).toMatchObject(counted);
  }
});

verifies('R5', 'does not count a cancelled task', async () => {
  const next = { kind: 'task', server: 'a', taskId: 't1', pollMs: 1000 } as const;
  const { behaviours, metrics, outcome, call } = openPool({
    a: async () => ({ kind: 'working', task: {}, continuation: next }),
  });
  await outcome();
  behaviours.a = answers('a');
  await outcome(call({}, { continuation: { ...next, cancels: true } }));
  expect(metrics.server('a').totalCalls).toBe(0);
});
