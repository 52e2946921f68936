import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Caller } from '../../core/call.ts';
import { ada } from '../../core/fixtures.ts';
import type { ApprovalVerdict } from '../../core/records/approval.ts';
import { approvalBench, approvalIdOf, boss, ops } from '../../govern/approvals/fixtures.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { approvalApi } from './approval-api.ts';

const auditor: Caller = { id: 'key:audit', roles: ['auditor'], via: 'gateway' };
const eve: Caller = { id: 'eve', roles: ['user', 'operator'], via: 'gateway' };

async function opened(clock?: () => number) {
  const bench = await approvalBench();
  const api = approvalApi(async () => bench.flow, {}, clock);
  const id = approvalIdOf(await bench.send({ input: { path: 'a' } }));
  return { bench, api, id };
}

describe('the approvals of Heddle', () => {
  verifies('G6', 'are read by owner, approver, auditor and requester, and by no other caller', async () => {
    const { api, id } = await opened();
    for (const by of [boss, ops, auditor, ada]) expect((await api.get(by, id)).id).toBe(id);
    await expect(api.get(eve, id)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    await expect(api.settled(eve, id, AbortSignal.timeout(60_000))).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    expect(await api.list(eve)).toEqual([]);
    expect(await api.list(ada)).toMatchObject([{ id }]);
    expect(Object.keys(await api.get(ada, id))).not.toContain('binding');
  });

  verifies('G6', 'are found by the beginning of their id', async () => {
    const { bench, api, id } = await opened();
    expect((await api.get(boss, id.slice(0, 10))).id).toBe(id);
    await bench.send({ input: { path: 'b' } });
    await expect(api.get(boss, 'ap_')).rejects.toMatchObject({ code: 'NAME_AMBIGUOUS' });
    for (const wrong of ['', '%', 'ap_zzzz', "ap_' OR 1=1", 'x'.repeat(1_000_000)]) {
      await expect(api.get(boss, wrong)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    }
  });

  verifies('G6', 'are decided by approvers and rejected by the requester, with a note', async () => {
    const { bench, api, id } = await opened();
    for (const by of [auditor, ada]) {
      await expect(api.decide(by, id, { verdict: 'approve' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    }
    await expect(api.decide(ada, id, { verdict: 'reject' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(api.decide(ada, id, { verdict: 'reject', note: 'A typo.' })).resolves.toMatchObject({
      status: 'rejected',
    });
    const other = approvalIdOf(await bench.send({ input: { path: 'c' } }));
    await expect(api.decide(ops, other, { verdict: 'approve' })).resolves.toMatchObject({ status: 'approved' });
    await expect(api.decide(boss, other, { verdict: 'approve' })).rejects.toMatchObject({ code: 'APPROVAL_SETTLED' });
  });

  verifies('G7', 'keep requests open for 5 s at most, unless an approver is present or a webhook is set', async () => {
    let now = 0;
    const { bench, api, id } = await opened(() => now);
    bench.approvals = { keepOpenMs: 50_000 };
    expect(await api.keepOpenMs(id)).toBe(5000);
    for (const by of [ada, auditor, eve]) await api.list(by);
    expect(await api.keepOpenMs(id)).toBe(5000);
    await api.list({ ...ops, profile: 'other' });
    expect(await api.keepOpenMs(id)).toBe(5000);
    await api.list(ops);
    expect(await api.keepOpenMs(id)).toBe(50_000);
    now += 60_000;
    expect(await api.keepOpenMs(id)).toBe(5000);
    await api.get(boss, id);
    expect(await api.keepOpenMs(id)).toBe(50_000);
    now += 60_000;
    bench.approvals = { keepOpenMs: 50_000, webhook: { url: 'https://hooks.example', secret: 's' } };
    expect(await api.keepOpenMs(id)).toBe(50_000);
    bench.approvals = { keepOpenMs: 100 };
    expect(await api.keepOpenMs(id)).toBe(100);
  });

  verifies('G7', 'count a requester that is an approver as absent: it waits for another one', async () => {
    const bench = await approvalBench({ ...ops, id: 'key:me' });
    const api = approvalApi(async () => bench.flow);
    const id = approvalIdOf(await bench.send());
    await api.list({ ...ops, id: 'key:me' });
    expect(await api.keepOpenMs(id)).toBe(5000);
    await api.list(ops);
    expect(await api.keepOpenMs(id)).toBe(50_000);
  });

  verifies('G6', 'tell a reader that may not approve them', async () => {
    const { api, id } = await opened();
    expect(await api.get(auditor, id)).toMatchObject({ decidable: false });
    expect(await api.get(ada, id)).toMatchObject({ decidable: false });
    for (const by of [boss, ops]) expect(await api.get(by, id)).not.toHaveProperty('decidable');
  });

  verifies('G6', 'accept no decision with unknown fields, a long note or a wrong standing approval', async () => {
    const { api, id } = await opened();
    const wrong: readonly unknown[] = [
      null,
      {},
      { verdict: 'yes' },
      { verdict: 'approve', force: true },
      { verdict: 'approve', note: 'x'.repeat(1_000_000) },
      { verdict: 'approve', note: 1 },
      { verdict: 'approve', standing: { tool: 'mcp__other__delete' } },
      { verdict: 'approve', standing: { uses: 0 } },
      { verdict: 'approve', standing: { untilMs: Number.NaN } },
      { verdict: 'approve', standing: { arguments: { path: 'other/*' } } },
      { verdict: 'approve', standing: { session: true } },
      { verdict: 'reject', note: 'no', standing: {} },
    ];
    for (const decision of wrong) {
      await expect(api.decide(ops, id, decision as ApprovalVerdict)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    }
    expect((await api.get(ops, id)).status).toBe('pending');
  });

  verifies('P6', 'reads only pending approvals of the same caller and tool for a standing approval', async () => {
    const { bench, id } = await opened();
    const { approvals: box } = bench.store;
    const found = (await box.get(id)) as StoredApproval;
    const limits = { perPrincipal: 500, total: 500 };
    for (let n = 0; n < 5; n++) {
      const copy = { ...found, id: `ap_${n}`, binding: `b${n}` };
      await box.open(n === 0 ? { ...copy, subject: { ...copy.subject, name: 'mcp__demo__other' } } : copy, limits);
      await box.open({ ...copy, id: `ap_${n}x`, binding: `c${n}`, principal: 'other' }, limits);
    }
    const read = new Set<string>();
    const listed: string[] = [];
    const counting: typeof box = {
      ...box,
      get: (one) => {
        read.add(one);
        return box.get(one);
      },
      list: async (query) => {
        const rows = await box.list(query);
        listed.push(...rows.map((row) => row.id));
        return rows;
      },
    };
    const api = approvalApi(async () => ({ ...bench.flow, box: counting }));
    await api.decide(ops, id, { verdict: 'approve', standing: { uses: 100 } });
    expect(listed.toSorted()).toEqual(['ap_1', 'ap_2', 'ap_3', 'ap_4']);
    expect([...read].toSorted()).toEqual(['ap_1', 'ap_2', 'ap_3', 'ap_4']);
  });

  verifies('G6', 'name the other approvals that a new standing approval settles, up to its uses', async () => {
    const bench = await approvalBench();
    const api = approvalApi(async () => bench.flow);
    const open = async (path: string) => {
      bench.now++;
      return approvalIdOf(await bench.send({ input: { path } }));
    };
    const [first, second, other, decided] = [
      await open('reports/y'),
      await open('reports/z'),
      await open('z'),
      await open('reports/a'),
    ];
    const standing = { uses: 1, arguments: { path: 'reports/*' } };
    await expect(api.decide(ops, decided, { verdict: 'approve', standing })).resolves.toMatchObject({
      id: decided,
      alsoApproved: [first],
    });
    const statuses = [first, second, other].map(async (id) => (await bench.flow.box.get(id))?.status);
    expect(await Promise.all(statuses)).toEqual(['approved', 'pending', 'pending']);
  });

  verifies('G6', 'have their state by the clock in every list, also before it is stored', async () => {
    const { bench, id } = await opened();
    const api = approvalApi(async () => ({ ...bench.flow, sweepPage: async () => true }));
    bench.now += 300_000;
    expect([await api.list(boss), await api.count(boss)]).toEqual([[], 0]);
    expect(await api.list(boss, { status: 'all' })).toMatchObject([{ id, status: 'timeout' }]);
    expect((await bench.store.approvals.get(id))?.status).toBe('pending');
  });

  verifies('G6', 'tell a waiting caller about the decision of another process', async () => {
    const { api, id } = await opened();
    const settled = api.settled(ada, id, new AbortController().signal);
    await api.decide(ops, id, { verdict: 'approve' });
    await expect(settled).resolves.toMatchObject({ id, status: 'approved' });
  });

  verifies('G6', 'end a wait when its signal aborts', async () => {
    const { api, id } = await opened();
    const waiting = new AbortController();
    const settled = api.settled(ada, id, waiting.signal);
    waiting.abort();
    await expect(settled).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  });

  verifies('G11', 'record every step with the identity that acted', async () => {
    const { bench, api, id } = await opened();
    await api.decide(ops, id, { verdict: 'approve', note: 'Fine.' });
    await bench.send({ input: { path: 'a' } });
    const all = () => bench.store.audit.search({ limit: 20 });
    await expect.poll(async () => (await all()).length).toBe(8);
    // The closing records of the two calls have the name that the caller wrote.
    const records = (await all()).toReversed().filter(({ name }) => name !== 'demo.echo');
    const steps = records.map(({ name, phase, caller, detail }) => [
      name,
      phase,
      caller,
      detail.outcome ?? detail.decision,
    ]);
    expect(steps).toEqual([
      ['approvals.state', 'outcome', 'ada', 'pending'],
      ['approvals.approve', 'intent', 'key:ops', undefined],
      ['approvals.state', 'outcome', 'ada', 'approved'],
      ['approvals.approve', 'outcome', 'key:ops', 'approved'],
      ['approvals.state', 'outcome', 'ada', 'used'],
      ['mcp__demo__echo', 'intent', 'ada', 'approved'],
    ]);
  });

  verifies('G6', 'list standing approvals for readers, and let owner and approver revoke them', async () => {
    const { bench, api, id } = await opened();
    await api.decide(ops, id, { verdict: 'approve', standing: { uses: 3, arguments: { path: '*' } } });
    const [standing] = await api.standing.list(auditor);
    expect(standing).toMatchObject({ tool: 'mcp__demo__echo', caller: 'ada', approvedBy: 'key:ops', usesLeft: 3 });
    await expect(api.standing.list(ada)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(api.standing.revoke(auditor, standing?.id ?? '')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await api.standing.revoke(ops, standing?.id ?? '');
    expect(await api.standing.list(boss)).toEqual([]);
    await expect(api.standing.revoke(ops, 'st_none')).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    expect(bench.reached).toEqual([]);
  });

  verifies('G6', 'are hidden from a reader of another profile, which cannot decide or wait for them', async () => {
    const { bench, api, id: outside } = await opened();
    const other = approvalIdOf(await bench.send({ caller: { ...ada, profile: 'other' }, input: { path: 'a' } }));
    const own = approvalIdOf(await bench.send({ caller: { ...ada, profile: 'pub' }, input: { path: 'a' } }));
    for (const role of ['approver', 'auditor', 'owner'] as const) {
      const bound: Caller = { id: 'key:bound', roles: ['user', role], via: 'gateway', profile: 'pub' };
      expect(await api.list(bound, { status: 'all', limit: 1 })).toMatchObject([{ id: own }]);
      expect([await api.count(bound), await api.count(bound, { status: 'used' })]).toEqual([1, 0]);
      expect((await api.get(bound, own)).id).toBe(own);
      for (const id of [outside, other]) {
        const hidden = { code: 'NAME_UNKNOWN' };
        await expect(api.get(bound, id)).rejects.toMatchObject(hidden);
        await expect(api.settled(bound, id, AbortSignal.timeout(60_000))).rejects.toMatchObject(hidden);
        await expect(api.decide(bound, id, { verdict: 'approve', standing: {} })).rejects.toMatchObject(hidden);
        await expect(api.decide(bound, id, { verdict: 'reject', note: 'No.' })).rejects.toMatchObject(hidden);
      }
    }
    const mine: Caller = { ...ada, profile: 'pub' };
    expect(await api.list(mine)).toMatchObject([{ id: own }]);
    await expect(api.get(mine, other)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
    expect((await api.list(ops)).map(({ id }) => id).toSorted()).toEqual([outside, other, own].toSorted());
    expect(await api.standing.list(ops)).toEqual([]);
  });

  verifies(
    'G6',
    'become standing approvals of their profile, which a reader of another one cannot list or revoke',
    async () => {
      const { bench, api, id: outside } = await opened();
      bench.approvals = { standing: [{ tool: 'mcp__demo__other', arguments: {} }] };
      const bound: Caller = { ...ops, id: 'key:bound', profile: 'pub' };
      const own = approvalIdOf(await bench.send({ caller: { ...ada, profile: 'pub' }, input: { path: 'a' } }));
      await api.decide(ops, outside, { verdict: 'approve', standing: {} });
      bench.now++;
      await api.decide(bound, own, { verdict: 'approve', standing: {} });
      const ids = async (by: Caller) => (await api.standing.list(by)).map(({ approvedBy, id }) => [approvedBy, id]);
      const [, [, first = ''] = [], [, second = ''] = []] = await ids(ops);
      expect(await ids(ops)).toEqual([
        ['configuration', expect.anything()],
        ['key:ops', first],
        ['key:bound', second],
      ]);
      expect(await ids(bound)).toEqual([['key:bound', second]]);
      await expect(api.standing.revoke(bound, first)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
      await api.standing.revoke(bound, second);
      expect(await ids(ops)).toEqual([
        ['configuration', expect.anything()],
        ['key:ops', first],
      ]);
    },
  );
});
