import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { compose, type DecidedCall, type Handler, type ResolvedCall, type Result } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { aCall, ada, aTarget, text } from '../../core/fixtures.ts';
import type { BudgetStatus } from '../../core/records/budget.ts';
import { realStore } from '../fixtures.ts';
import { recordIntent } from '../record-intent.ts';
import { budget } from './budget.ts';
import type { BudgetSettings } from './budget-windows.ts';

const NINE = Date.parse('2026-11-17T09:30:00Z');

/** The stage over a real store. The opening record is written, then `handler` is the server. */
async function budgeted(settings: Partial<BudgetSettings>, handler: Handler<ResolvedCall> = async () => text('done')) {
  const store = await realStore();
  const time = { now: NINE };
  const warnings: BudgetStatus[] = [];
  const options = {
    settings: () => ({ callers: {}, warnAt: 0.8, ...settings }),
    spending: store.spending,
    clock: () => time.now,
    onWarning: (status: BudgetStatus) => void warnings.push(status),
  };
  const server = { handler };
  const opened = compose<DecidedCall>([recordIntent(store.audit)], (call) => server.handler(call));
  const handle = compose([budget(options)], (call) => opened(call as DecidedCall));
  const outcome = (call: ResolvedCall = priced(1)) =>
    handle(call).then(
      () => 'ok',
      (thrown) => HeddleError.from(thrown).code,
    );
  const spent = async () =>
    (await store.spending.all(['hour 2026-11-17T09', 'day 2026-11-17'])).map((one) => one.amount);
  return { store, time, warnings, server, handle, outcome, spent };
}

const priced = (costPerCall: number, overrides: Partial<ResolvedCall> = {}) =>
  aCall({ target: aTarget({ facts: { costPerCall } }), ...overrides });

verifies('G5', 'refuses a call that the budget does not cover, with the time of the reset', async () => {
  const { handle, outcome, time, spent } = await budgeted({ perCaller: { hour: 10, day: 25 } });
  expect(await outcome(priced(8))).toBe('ok');
  await expect(handle(priced(3))).rejects.toMatchObject({
    code: 'BUDGET_EXCEEDED',
    message: 'The budget of ada for this hour does not cover the call: it costs 3, and 8 of 10 units are spent.',
    fix: 'Call again after 2026-11-17T10:00:00.000Z, or raise the budget for the hour in `budgets`.',
    details: { period: 'hour', resetsAt: '2026-11-17T10:00:00.000Z', retryAfterMs: 1_800_000, spent: 8, limit: 10 },
  });
  expect(await spent()).toEqual([8, 8]);
  time.now += 1_800_000;
  expect(await outcome(priced(9))).toBe('ok');
  time.now += 3_600_000;
  await expect(handle(priced(9))).rejects.toMatchObject({ details: { period: 'day' } });
  await expect(handle(priced(11))).rejects.toMatchObject({
    fix: 'Raise the budget for the hour in `budgets`: this call costs more than all of it.',
  });
});

verifies('G5', 'counts callers apart, and all names of the user of this machine together', async () => {
  const { outcome } = await budgeted({
    perCaller: { day: 1 },
    callers: { 'key:ci': { day: 2 }, 'local:ada': { day: 3 } },
  });
  const by = (id: string, roles: ('owner' | 'user')[] = ['user']) =>
    outcome(priced(1, { caller: { ...ada, id, roles } }));
  expect([await by('bob'), await by('bob')]).toEqual(['ok', 'BUDGET_EXCEEDED']);
  expect([await by('key:ci'), await by('key:ci'), await by('key:ci')]).toEqual(['ok', 'ok', 'BUDGET_EXCEEDED']);
  const owner = [await by('owner', ['owner']), await by('library', ['owner']), await by('local:ada', ['owner'])];
  expect([...owner, await by('owner', ['owner'])]).toEqual(['ok', 'ok', 'ok', 'BUDGET_EXCEEDED']);
});

verifies('G5', 'spends nothing for calls without a cost and callers without a budget', async () => {
  const { outcome, spent } = await budgeted({ callers: { constructor: { day: 1 } } });
  for (const cost of [0, 5]) expect(await outcome(priced(cost))).toBe('ok');
  expect(await outcome(aCall())).toBe('ok');
  expect(await spent()).toEqual([]);
});

verifies('G5', 'charges a call once: its continuations at a server are free', async () => {
  const { outcome, spent } = await budgeted({ perCaller: { day: 2 } });
  await outcome();
  for (const kind of ['upstream', 'suspended'] as const) {
    await outcome(priced(1, { continuation: { kind, server: 'demo', ticket: 't' } }));
  }
  expect(await spent()).toEqual([1]);
  expect(await outcome(priced(1, { continuation: { kind: 'upstream', server: 'demo', again: true } }))).toBe('ok');
  expect(await spent()).toEqual([2]);
});

verifies('G5', 'writes nothing for a call that waits for an approval, and charges it when it runs', async () => {
  const store = await realStore();
  const waiting: Result = {
    kind: 'waiting',
    approval: { id: 'ap_1', approvers: [], expiresAt: 0, reason: 'routine' },
    continuation: { kind: 'approval', id: 'ap_1' },
  };
  const settings = () => ({ callers: {}, warnAt: 0.8, perCaller: { day: 1 } });
  const stage = budget({ settings, spending: store.spending, clock: () => NINE, onWarning: () => undefined });
  const spent = () => store.spending.all(['day 2026-11-17']);
  for (let again = 0; again < 3; again++) expect(await stage(priced(1), async () => waiting)).toBe(waiting);
  expect(await spent()).toEqual([]);
  const opened = recordIntent(store.audit);
  const continued = priced(1, { continuation: { kind: 'approval', id: 'ap_1' } });
  await stage(continued, (call) => opened(call as DecidedCall, async () => text('done')));
  expect(await spent()).toMatchObject([{ caller: 'ada', amount: 1 }]);
});

verifies('G5', 'releases the cost if certainly no server did anything, and only then', async () => {
  const { server, outcome, spent, store } = await budgeted({ perCaller: { day: 100 } });
  const fails = (thrown: unknown) => {
    server.handler = async () => {
      throw thrown;
    };
  };
  fails(new UpstreamError('UPSTREAM_UNREACHABLE', 'Not there.', { delivered: 'no' }));
  expect([await outcome(), await spent()]).toEqual(['UPSTREAM_UNREACHABLE', [0]]);
  const inPool = aTarget({ servers: ['a', 'b'], facts: { costPerCall: 1, idempotent: true } });
  expect([await outcome(priced(1, { target: inPool })), await spent()]).toEqual(['UPSTREAM_UNREACHABLE', [1]]);
  for (const thrown of [
    new UpstreamError('UPSTREAM_TIMEOUT', 'Too slow.', { delivered: 'maybe' }),
    new HeddleError('OUTCOME_UNKNOWN', 'It may have happened.'),
    new HeddleError('PERMISSION_DENIED', 'A hook withheld the result.'),
    new Error('unexpected'),
  ]) {
    const [before = 0] = await spent();
    fails(thrown);
    await outcome();
    expect(await spent()).toEqual([before + 1]);
  }
  const [before] = await spent();
  server.handler = async () =>
    ({ ...text('old'), provenance: { server: 'demo', attempts: 1, latencyMs: 0, cached: true } }) as Result;
  expect([await outcome(), await spent()]).toEqual(['ok', [before]]);
  await store.breakAudit();
  expect([await outcome(), await spent()]).toEqual(['AUDIT_UNAVAILABLE', [before]]);
});

verifies('G5', 'never spends more than the budget with concurrent calls, also of another process', async () => {
  const { outcome, spent, store } = await budgeted({ perCaller: { day: 10 } });
  const all = await Promise.all(Array.from({ length: 40 }, () => outcome()));
  expect(all.filter((one) => one === 'ok')).toHaveLength(10);
  expect(await spent()).toEqual([10]);
  await store.spending.reserve('ada', -1, [{ window: 'day 2026-11-17', limit: 10 }]);
  expect([await outcome(), await outcome()]).toEqual(['ok', 'BUDGET_EXCEEDED']);
});

verifies('G5', 'refuses a call that another process has outrun, before its opening record', async () => {
  const { store, outcome } = await budgeted({ perCaller: { day: 10 } });
  await store.spending.reserve('ada', 9, [{ window: 'day 2026-11-17', limit: 10 }]);
  const outrun = { ...store.spending, spent: async () => [] };
  const settings = () => ({ callers: {}, warnAt: 0.8, perCaller: { day: 10 } });
  const stage = budget({ settings, spending: outrun, clock: () => NINE, onWarning: () => undefined });
  const opened = recordIntent(store.audit);
  const run = stage(priced(2), (call) => opened(call as DecidedCall, async () => text('done')));
  await expect(run).rejects.toMatchObject({ code: 'BUDGET_EXCEEDED' });
  expect(await store.phases()).toEqual([]);
  expect(await outcome()).toBe('ok');
});

verifies('G5', 'raises one event when a caller reaches warnAt of its budget', async () => {
  const { outcome, warnings } = await budgeted({ perCaller: { day: 10 }, warnAt: 0.5 });
  for (let call = 0; call < 8; call++) await outcome();
  expect(warnings).toEqual([
    { caller: 'ada', period: 'day', spent: 5, limit: 10, left: 5, resetsAt: Date.parse('2026-11-18T00:00:00Z') },
  ]);
});

verifies('G5', 'refuses calls that cost something while the store cannot be read', async () => {
  const { outcome, store } = await budgeted({ perCaller: { day: 10 } });
  await store.committed('DROP TABLE spending');
  expect(await outcome()).toBe('STORE_UNAVAILABLE');
  expect(await outcome(aCall())).toBe('ok');
});

verifies('G5', 'charges the call of an agent to the agent and to its program, or to neither', async () => {
  const program = { id: 'library', roles: ['owner'], via: 'library' } as const;
  const callers = { library: { day: 3 }, 'library/planner': { day: 1 } };
  const { outcome, store } = await budgeted({ perCaller: { day: 2 }, callers });
  const spent = async () =>
    Object.fromEntries((await store.spending.all(['day 2026-11-17'])).map(({ caller, amount }) => [caller, amount]));
  const by = (agent: string) => priced(1, { caller: { ...program, agent } });
  expect([await outcome(by('planner')), await outcome(by('planner'))]).toEqual(['ok', 'BUDGET_EXCEEDED']);
  expect(await spent()).toEqual({ owner: 1, 'library/planner': 1 });
  expect([await outcome(by('writer')), await outcome(by('writer'))]).toEqual(['ok', 'ok']);
  expect(await outcome(by('writer'))).toBe('BUDGET_EXCEEDED');
  expect(await spent()).toEqual({ owner: 3, 'library/planner': 1 });
});

verifies(
  'G5',
  'gives the cost back to the program if another process has used up the budget of its agent',
  async () => {
    const store = await realStore();
    const callers = { library: { day: 3 }, 'library/planner': { day: 1 } };
    await store.spending.reserve('library/planner', 1, [{ window: 'day 2026-11-17', limit: 1 }]);
    const stage = budget({
      settings: () => ({ callers, warnAt: 0.8 }),
      spending: { ...store.spending, spent: async () => [] },
      clock: () => NINE,
      onWarning: () => undefined,
    });
    const opened = recordIntent(store.audit);
    const call = priced(1, { caller: { id: 'library', roles: ['owner'], via: 'library', agent: 'planner' } });
    const run = stage(call, (sent) => opened(sent as DecidedCall, async () => text('done')));
    await expect(run).rejects.toMatchObject({ code: 'BUDGET_EXCEEDED' });
    expect(await store.spending.spent('owner', ['day 2026-11-17'])).toMatchObject([{ amount: 0 }]);
  },
);
