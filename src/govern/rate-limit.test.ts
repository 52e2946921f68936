import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { RateLimit } from '../core/call/facts.ts';
import { compose, type ResolvedCall } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { aCall, ada, answers, aTarget } from '../core/fixtures.ts';
import { type RateLimits, rateLimit, rates } from './rate-limit.ts';

const per = (maxCalls: number, windowMs = 1000): RateLimit => ({ maxCalls, windowMs });

function limited(options: Partial<RateLimits> = {}) {
  const time = { now: 1_000_000 };
  const limits = { servers: new Map(), perCaller: undefined, ...options };
  const handle = compose(
    [
      rateLimit(
        rates(
          () => limits,
          () => time.now,
        ),
      ),
    ],
    answers('ok'),
  );
  const outcome = (call: ResolvedCall) =>
    handle(call).then(
      () => 'ok',
      (thrown) => HeddleError.from(thrown).details.retryAfterMs,
    );
  return { time, handle, outcome };
}
const toolCall = (limit: RateLimit, name = 'echo') =>
  aCall({ target: aTarget({ publicName: `mcp__demo__${name}`, name, facts: { rateLimit: limit } }) });
const from = (id: string, overrides: Partial<ResolvedCall> = {}) => aCall({ caller: { ...ada, id }, ...overrides });

verifies('G5', 'refuses calls over the limit, returns the wait, and accepts calls after it', async () => {
  const { time, outcome, handle } = limited();
  const call = toolCall(per(2));
  expect([await outcome(call), await outcome(call)]).toEqual(['ok', 'ok']);
  time.now += 300;
  await expect(handle(call)).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    message: expect.stringContaining('mcp__demo__echo'),
    fix: 'Wait 700 ms and call again.',
  });
  expect(await outcome(toolCall(per(2), 'other'))).toBe('ok');
  time.now += 699;
  expect(await outcome(call)).toBe(1);
  time.now += 1;
  expect(await outcome(call)).toBe('ok');
});

verifies('G5', 'counts in a sliding window: no period of its length has more calls than the limit', async () => {
  const { time, outcome } = limited();
  const call = toolCall(per(2));
  expect(await outcome(call)).toBe('ok');
  time.now += 900;
  expect([await outcome(call), await outcome(call)]).toEqual(['ok', 100]);
  time.now += 100;
  expect([await outcome(call), await outcome(call)]).toEqual(['ok', 900]);
});

verifies('G5', 'accepts calls after the window even if the clock was set back an hour', async () => {
  const { time, outcome } = limited();
  const call = toolCall(per(1));
  expect([await outcome(call), await outcome(call)]).toEqual(['ok', 1000]);
  time.now -= 3_600_000;
  expect(await outcome(call)).toBe(1000);
  time.now += 1000;
  expect(await outcome(call)).toBe('ok');
});

verifies('G5', 'keeps a large limit exactly, in bounded memory', async () => {
  const { time, outcome } = limited();
  const call = toolCall(per(5000, 60_000));
  const accepted: number[] = [];
  for (let n = 0; n < 20_000; n++) {
    time.now += 10;
    if ((await outcome(call)) === 'ok') accepted.push(time.now);
  }
  const over = accepted.filter((at, n) => n >= 5000 && at - (accepted[n - 5000] ?? 0) < 60_000);
  expect(over).toEqual([]);
  // Calls leave in groups of at most 1/128 of the window, so a little of the limit may stay unused.
  expect(accepted.length).toBeGreaterThan(14_500);
});

verifies('G5', 'a server has one window for all of its tools', async () => {
  const { outcome } = limited({ servers: new Map([['demo', per(2)]]) });
  const call = (name: string) => aCall({ target: aTarget({ publicName: `mcp__demo__${name}`, name }) });
  expect([await outcome(call('a')), await outcome(call('b')), await outcome(call('c'))]).toEqual(['ok', 'ok', 1000]);
  expect(await outcome(aCall({ target: aTarget({ servers: ['other'] }) }))).toBe('ok');
});

verifies('G5', 'each caller has one window of its own for all calls', async () => {
  const { outcome } = limited({ perCaller: per(1) });
  expect([await outcome(from('ada')), await outcome(from('ada')), await outcome(from('bob'))]).toEqual([
    'ok',
    1000,
    'ok',
  ]);
});

verifies('G5', 'a refused call counts for no shared limit', async () => {
  const { outcome } = limited({ perCaller: per(1), servers: new Map([['demo', per(3)]]) });
  const target = aTarget({ facts: { rateLimit: per(3) } });
  expect(await outcome(from('greedy', { target }))).toBe('ok');
  for (let again = 0; again < 20; again++) expect(await outcome(from('greedy', { target }))).toBe(1000);
  expect([await outcome(from('bob', { target })), await outcome(from('eve', { target }))]).toEqual(['ok', 'ok']);
});

verifies('G5', 'limits nothing without a configured limit', async () => {
  const { outcome } = limited();
  for (let again = 0; again < 1000; again++) expect(await outcome(aCall())).toBe('ok');
});

verifies('G5', 'keeps a bounded number of callers, and the busy ones stay counted', async () => {
  const { outcome } = limited({ perCaller: per(1, 1e9) });
  const callers = Array.from({ length: 12_000 }, (_, index) => `caller ${index}`);
  await outcome(from('busy'));
  for (const [index, id] of callers.entries()) {
    await outcome(from(id));
    if (index % 1000 === 0) expect(await outcome(from('busy'))).toBe(1e9);
  }
  expect(await outcome(from('caller 11999'))).toBe(1e9);
  expect(await outcome(from('caller 0'))).toBe('ok');
});

verifies('G5', 'does not count a continuation', async () => {
  const { outcome } = limited({ perCaller: per(1) });
  const next = { kind: 'upstream', server: 'demo' } as const;
  expect([await outcome(from('ann')), await outcome(from('ann', { continuation: next }))]).toEqual(['ok', 'ok']);
  expect(await outcome(from('ann'))).toBe(1000);
});

verifies('G5', 'counts a requestState that is used again, also at the server of a pool', async () => {
  const again = { kind: 'upstream', server: 'b', again: true } as const;
  const own = limited({ perCaller: per(1) });
  expect([
    await own.outcome(from('ann', { continuation: again })),
    await own.outcome(from('ann', { continuation: again })),
  ]).toEqual(['ok', 1000]);
  const { outcome } = limited({ servers: new Map([['b', per(1)]]) });
  const target = aTarget({ publicName: 'mcp__p__t', servers: ['a', 'b'] });
  expect([
    await outcome(aCall({ target, continuation: again })),
    await outcome(aCall({ target, continuation: again })),
  ]).toEqual(['ok', 1000]);
});

verifies('G5', 'counts the server of a pool when it is called, not before', async () => {
  const time = { now: 1_000_000 };
  const limits = {
    servers: new Map([
      ['a', per(1)],
      ['b', per(1, 400)],
    ]),
    perCaller: per(3),
  };
  const counted = rates(
    () => limits,
    () => time.now,
  );
  const handle = compose([rateLimit(counted)], answers('ok'));
  const call = aCall({ target: aTarget({ publicName: 'mcp__p__t', servers: ['a', 'b'] }) });
  await handle(call);
  expect([counted.admitTo('b', call), counted.admitTo('b', call)?.details.retryAfterMs]).toEqual([undefined, 400]);
  await handle(call);
  expect([counted.admitTo('a', call), counted.admitTo('a', call)?.details.retryAfterMs]).toEqual([undefined, 1000]);
  expect(counted.admitTo('unlimited', call)).toBeUndefined();
  // No server is left: the call is not counted, and the refusal has the shortest wait.
  for (let again = 0; again < 9; again++) {
    await expect(handle(call)).rejects.toMatchObject({ code: 'RATE_LIMITED', details: { retryAfterMs: 400 } });
  }
  time.now += 400;
  await handle(call);
  await expect(handle(call)).rejects.toMatchObject({
    message: 'The caller ada has used up its 3 calls per 1000 ms (`limits.perCaller`).',
  });
});

/** The tool t of the servers a and b, alone and in their pool; `a` limits its own. */
function pooled(own: RateLimit) {
  const time = { now: 1_000_000 };
  const counted = rates(
    () => ({ servers: new Map(), perCaller: undefined }),
    () => time.now,
  );
  const alone = aCall({
    target: aTarget({ publicName: 'mcp__a__t', servers: ['a'], name: 't', facts: { rateLimit: own } }),
  });
  const rateLimits = new Map([['a', own]]);
  const target = aTarget({ publicName: 'mcp__p__t', servers: ['a', 'b'], name: 't', group: 'p', rateLimits });
  return { time, counted, alone, together: aCall({ target }) };
}

verifies('G5', 'counts direct calls of a tool and calls through its pool together', () => {
  const { counted, alone, together } = pooled(per(1));
  expect([counted.admit(alone), counted.admit(together)]).toEqual([undefined, undefined]);
  expect(counted.admitTo('a', together)).toMatchObject({
    code: 'RATE_LIMITED',
    message: expect.stringContaining('a.t'),
  });
  expect([counted.admitTo('b', together), counted.admitTo('b', together)]).toEqual([undefined, undefined]);
  const other = pooled(per(1));
  expect(other.counted.admitTo('a', other.together)).toBeUndefined();
  expect(other.counted.admit(other.alone)?.details.retryAfterMs).toBe(1000);
});

verifies('G5', 'a stricter limit of the pool does not reset the window of a tool', () => {
  const { time, counted, alone, together } = pooled(per(1, 60_000));
  const quick = aCall({ target: { ...together.target, facts: { ...together.target.facts, rateLimit: per(1, 10) } } });
  expect(counted.admit(alone)).toBeUndefined();
  time.now += 20;
  expect(counted.admit(quick)).toBeUndefined();
  expect([counted.admitTo('a', quick), counted.admit(alone)]).toMatchObject([
    { code: 'RATE_LIMITED' },
    { code: 'RATE_LIMITED' },
  ]);
});

verifies('G5', 'counts nothing if every server of a pool is over its limit', () => {
  const { counted, alone, together } = pooled(per(1));
  const rateLimits = new Map([...(together.target.rateLimits ?? []), ['b', per(1, 400)]]);
  const call = aCall({ target: { ...together.target, rateLimits } });
  expect([counted.admit(alone), counted.admitTo('b', call)]).toEqual([undefined, undefined]);
  expect(counted.admit(call)?.details.retryAfterMs).toBe(400);
});

verifies('G5', 'a tool that gets another public name keeps its count', () => {
  const { counted, alone, together } = pooled(per(1));
  const renamed = (call: ResolvedCall) => aCall({ target: { ...call.target, publicName: 'mcp__x_0123abcd' } });
  expect([counted.admit(alone), counted.admit(renamed(alone))]).toMatchObject([undefined, { code: 'RATE_LIMITED' }]);
  const limited = aCall({
    target: { ...together.target, facts: { ...together.target.facts, rateLimit: per(1) }, rateLimits: new Map() },
  });
  expect([counted.admit(limited), counted.admit(renamed(limited))]).toMatchObject([
    undefined,
    { code: 'RATE_LIMITED' },
  ]);
});

verifies('G5', 'counts a call that waits for an approval when it runs, once', async () => {
  const time = { now: 1_000_000 };
  const limits = { servers: new Map(), perCaller: per(1) };
  const stage = rateLimit(
    rates(
      () => limits,
      () => time.now,
    ),
  );
  const approval = { id: 'ap_1', approvers: [], expiresAt: 1, reason: 'x' };
  const continuation = { kind: 'approval', id: 'ap_1' } as const;
  const waits = async () => ({ kind: 'waiting', approval, continuation }) as const;
  for (let n = 0; n < 3; n++) await expect(stage(from('ann'), waits)).resolves.toMatchObject({ kind: 'waiting' });
  await expect(stage(from('ann', { continuation }), waits)).resolves.toMatchObject({ kind: 'waiting' });
  await expect(stage(from('ann', { continuation }), answers('ok'))).resolves.toMatchObject({ kind: 'complete' });
  await expect(stage(from('ann'), answers('ok'))).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    message: 'The caller ann has used up its 1 calls per 1000 ms (`limits.perCaller`).',
  });
});

verifies('G5', 'limits how often a pending approval is asked for, also without a configured limit', async () => {
  const { time, outcome } = limited();
  const poll = from('ann', { continuation: { kind: 'approval', id: 'ap_1' } });
  for (let n = 0; n < 60; n++) expect(await outcome(poll)).toBe('ok');
  expect(await outcome(poll)).toBe(60_000);
  expect(await outcome(from('ann', { continuation: { kind: 'approval', id: 'ap_2' } }))).toBe('ok');
  time.now += 60_000;
  expect(await outcome(poll)).toBe('ok');
});

verifies('G5', 'counts repeats of a waiting call from the 61st a minute', async () => {
  const time = { now: 1_000_000 };
  const limits = { servers: new Map(), perCaller: per(5, 3_600_000) };
  const stage = rateLimit(
    rates(
      () => limits,
      () => time.now,
    ),
  );
  const approval = { id: 'ap_1', approvers: [], expiresAt: 1, reason: 'x' };
  let reached = 0;
  const waits = async () => {
    reached++;
    return { kind: 'waiting', approval, continuation: { kind: 'approval', id: 'ap_1' } } as const;
  };
  for (let n = 0; n < 100; n++) await stage(from('ann'), waits).catch(() => {});
  expect(reached).toBe(65);
  await expect(stage(from('ann'), waits)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
});

verifies('G5', 'lets each of many identical calls ask for their approval', async () => {
  const { outcome } = limited();
  const polls = Array.from({ length: 100 }, (_, n) =>
    outcome(from('ann', { id: `call-${n}`, continuation: { kind: 'approval', id: 'ap_1' } })),
  );
  expect(new Set(await Promise.all(polls))).toEqual(new Set(['ok']));
});
