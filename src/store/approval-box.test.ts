import { expect, it, vi } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import type { OpenLimits, StoredApproval } from './approval-box.ts';
import { onEveryDialect } from './fixtures.ts';
import { openStore } from './open-store.ts';

const LIMITS: OpenLimits = { perPrincipal: 50, total: 10_000 };

function approvalOf(id: string, change: Partial<StoredApproval> = {}): StoredApproval {
  return {
    id,
    binding: `binding of ${id}`,
    principal: 'key:ci',
    session: 's-1',
    version: 1,
    status: 'pending',
    subject: {
      kind: 'tool',
      name: 'files.delete',
      servers: ['files'],
      digest: 'd1',
      inputDigest: 'i1',
      riskLevel: 'high',
      arguments: { path: 'marker \u0000 \ud800' },
      inputResponses: { name: { action: 'accept', content: { name: 'marker' } } },
      extraParams: { marker: 1 },
      changedByHooks: { path: 'marker before' },
      preview: ['marker line'],
    },
    requestedBy: 'key:ci',
    via: 'gateway',
    requestedAt: 1_000,
    expiresAt: 61_000,
    reasons: ['routine'],
    rule: 'mode guarded',
    stages: [{ approvers: ['role:approver'], need: 1 }],
    notRequester: false,
    allowsStanding: true,
    decisions: [],
    ...change,
  };
}

function settled(approval: StoredApproval, status: StoredApproval['status'], at = 2_000): StoredApproval {
  const {
    arguments: _,
    inputResponses: _responses,
    extraParams: _extra,
    changedByHooks: _hooks,
    preview: _preview,
    ...subject
  } = approval.subject;
  return {
    ...approval,
    status,
    version: approval.version + 1,
    settledAt: at,
    subject: { ...subject, arguments: { path: '…' }, isSanitised: true },
  };
}

onEveryDialect((bench) => {
  verifies('G7', 'keeps an approval with its exact arguments over a restart', async () => {
    const approval = approvalOf('ap_one');
    expect(await bench.store.approvals.open(approval, LIMITS)).toEqual({ approval, isNew: true });
    await bench.store.close();
    bench.store = await openStore({ location: bench.database.location });
    expect(await bench.store.approvals.get('ap_one')).toEqual(approval);
    expect(await bench.store.approvals.get('ap_two')).toBeUndefined();
    expect(await bench.store.approvals.get('ap_\0')).toBeUndefined();
  });

  verifies('G7', 'returns the open approval of the same binding to the second request', async () => {
    const first = approvalOf('ap_one', { binding: 'b' });
    const other = await openStore({ location: bench.database.location });
    const opened = await Promise.all(
      [bench.store, other].flatMap(({ approvals }, at) =>
        [1, 2, 3].map((n) => approvals.open({ ...first, id: `ap_${at}_${n}` }, LIMITS)),
      ),
    );
    const approvals = opened.map((one) => ('approval' in one ? one.approval.id : one.limit));
    expect(new Set(approvals).size).toBe(1);
    expect(opened.filter((one) => 'isNew' in one && one.isNew)).toHaveLength(1);
    await other.close();
  });

  verifies('G7', 'opens a new approval of a binding once the earlier one is settled', async () => {
    const { approvals } = bench.store;
    const first = approvalOf('ap_one', { binding: 'b' });
    await approvals.open(first, LIMITS);
    expect(await approvals.replace(settled(first, 'rejected'))).toBe(true);
    const second = approvalOf('ap_two', { binding: 'b', requestedAt: 5_000 });
    expect(await approvals.open(second, LIMITS)).toEqual({ approval: second, isNew: true });
    expect((await approvals.latest('b'))?.id).toBe('ap_two');
  });

  verifies('G7', 'limits open approvals per principal and in all, exactly for concurrent requests', async () => {
    const other = await openStore({ location: bench.database.location });
    const limits = { perPrincipal: 3, total: 5 };
    const open = (n: number, principal: string) =>
      (n % 2 ? other : bench.store).approvals.open(approvalOf(`ap_${principal}${n}`, { principal }), limits);
    const ofOne = await Promise.all(Array.from({ length: 8 }, (_, n) => open(n, 'a')));
    expect(ofOne.filter((one) => 'limit' in one)).toEqual(Array(5).fill({ limit: 'perPrincipal' }));
    expect(await open(1, 'b')).toMatchObject({ isNew: true });
    expect(await open(2, 'c')).toMatchObject({ isNew: true });
    expect(await open(3, 'd')).toEqual({ limit: 'total' });
    const [held] = await other.approvals.list({ statuses: ['pending'], limit: 1 });
    await other.approvals.replace(settled(held as StoredApproval, 'timeout'));
    expect(await open(4, 'd')).toMatchObject({ isNew: true });
    await other.close();
  });

  verifies('G7', 'lets one of many concurrent changes win', async () => {
    const other = await openStore({ location: bench.database.location });
    const approval = approvalOf('ap_one', { status: 'approved' });
    await bench.store.approvals.open(approval, LIMITS);
    const wins = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        (n % 2 ? other : bench.store).approvals.replace({ ...settled(approval, 'used'), callId: `call-${n}` }),
      ),
    );
    const winner = wins.indexOf(true);
    expect(wins.filter(Boolean)).toHaveLength(1);
    expect(await bench.store.approvals.get('ap_one')).toMatchObject({ status: 'used', callId: `call-${winner}` });
    await other.close();
  });

  verifies('G7', 'never opens a settled approval again', async () => {
    const { approvals } = bench.store;
    const first = approvalOf('ap_one');
    await approvals.open(first, LIMITS);
    const over = settled(first, 'timeout');
    await approvals.replace(over);
    expect(await approvals.replace({ ...first, status: 'approved', version: over.version + 1 })).toBe(false);
    expect((await approvals.get('ap_one'))?.status).toBe('timeout');
  });

  verifies('G6', 'removes the exact arguments when an approval is settled, even if the change has them', async () => {
    const { approvals } = bench.store;
    const [one, two] = [approvalOf('ap_one'), approvalOf('ap_two')];
    for (const each of [one, two]) await approvals.open(each, LIMITS);
    expect(JSON.stringify(await bench.database.run('SELECT * FROM approvals'))).toContain('marker');
    await approvals.replace(settled(one, 'used'));
    await approvals.replace({ ...two, status: 'void', version: 2 });
    expect(JSON.stringify(await bench.database.run('SELECT * FROM approvals'))).not.toContain('marker');
    expect((await approvals.get('ap_one'))?.subject).toMatchObject({ arguments: { path: '…' }, isSanitised: true });
    expect((await approvals.get('ap_two'))?.subject).toMatchObject({ arguments: null, isSanitised: true });
  });

  verifies('G6', 'keeps decisions, stages and expiry of a change', async () => {
    const { approvals } = bench.store;
    const first = approvalOf('ap_one');
    await approvals.open(first, LIMITS);
    const decision = {
      by: 'key:ops',
      roles: ['approver'],
      at: 1_500,
      verdict: 'approve',
      stage: 0,
      via: 'cli',
      note: 'fine',
    } as const;
    const next: StoredApproval = {
      ...first,
      status: 'approved',
      version: 2,
      expiresAt: 900_000,
      stages: [...first.stages, { approvers: ['key:ops'], need: 2 }],
      decisions: [decision],
    };
    expect(await approvals.replace(next)).toBe(true);
    expect(await approvals.get('ap_one')).toEqual(next);
  });

  it('finds approvals by the beginning of their id, at most ten, and an exact id alone', async () => {
    const { approvals } = bench.store;
    for (let n = 0; n < 12; n++) await approvals.open(approvalOf(`ap_x${n}`, { requestedAt: n }), LIMITS);
    expect((await approvals.find('ap_x1')).map(({ id }) => id)).toEqual(['ap_x1']);
    expect(await approvals.find('ap_x')).toHaveLength(10);
    await approvals.open(approvalOf('ap_y_Z9'), LIMITS);
    for (const id of ['ap_y', 'ap_y_', 'ap_y_Z']) expect(await approvals.find(id)).toMatchObject([{ id: 'ap_y_Z9' }]);
    for (const none of ['', 'AP_X', 'ap_%', "ap_x'", 'ap_\0', 'x'.repeat(100_000)]) {
      expect(await approvals.find(none)).toEqual([]);
    }
  });

  verifies('G6', 'a list reads the beginning of arguments over 4 KB alone; `get` returns them all', async () => {
    const { approvals } = bench.store;
    const long = { text: 'é'.repeat(100_000) };
    const { subject } = approvalOf('ap_1');
    await approvals.open(approvalOf('ap_1', { subject: { ...subject, arguments: long } }), LIMITS);
    await approvals.open(approvalOf('ap_2'), LIMITS);
    const [first, second] = await approvals.list({ statuses: ['pending'], limit: 10 });
    const beginning = `${JSON.stringify(long).slice(0, 400)}…`;
    expect(first?.subject).toEqual({
      ...{ kind: 'tool', name: 'files.delete', servers: ['files'], digest: 'd1', inputDigest: 'i1', riskLevel: 'high' },
      ...{ arguments: beginning, isCut: true },
    });
    expect(second?.subject).toEqual(subject);
    expect((await approvals.get('ap_1'))?.subject.arguments).toEqual(long);
  });

  verifies('G6', 'a list goes on behind an approval, and has those of one name', async () => {
    const { approvals } = bench.store;
    const { subject } = approvalOf('ap_1');
    for (const [id, requestedAt] of [
      ...([
        ['ap_1', 5],
        ['ap_2', 5],
        ['ap_3', 9],
        ['ap_4', 1],
      ] as const),
    ]) {
      const name = id === 'ap_2' ? 'other' : subject.name;
      await approvals.open(approvalOf(id, { requestedAt, subject: { ...subject, name } }), LIMITS);
    }
    for (const principal of [undefined, 'key:ci']) {
      const query = { statuses: ['pending'], limit: 2, ...(principal && { principal }) } as const;
      const ids = async (more: object) => (await approvals.list({ ...query, ...more })).map(({ id }) => id);
      expect(await ids({})).toEqual(['ap_3', 'ap_1']);
      expect(await ids({ after: { id: 'ap_1', requestedAt: 5 } })).toEqual(['ap_2', 'ap_4']);
      expect(await ids({ after: { id: 'ap_4', requestedAt: 1 } })).toEqual([]);
      expect(await ids({ name: 'other' })).toEqual(['ap_2']);
      expect(await approvals.count({ ...query, name: 'files.delete' })).toBe(3);
    }
  });

  it('lists by status, the newest first, and those whose time is over', async () => {
    const { approvals } = bench.store;
    for (const n of [1, 2, 3]) {
      await approvals.open(approvalOf(`ap_${n}`, { requestedAt: n, expiresAt: n * 1_000 }), LIMITS);
    }
    await approvals.replace(settled(approvalOf('ap_2', { requestedAt: 2 }), 'rejected'));
    const ids = (list: readonly StoredApproval[]) => list.map(({ id }) => id);
    expect(ids(await approvals.list({ statuses: ['pending'], limit: 10 }))).toEqual(['ap_3', 'ap_1']);
    expect(ids(await approvals.list({ statuses: ['pending', 'rejected'], limit: 2 }))).toEqual(['ap_3', 'ap_2']);
    expect(await approvals.list({ statuses: [], limit: 2 })).toEqual([]);
    expect(ids(await approvals.list({ statuses: ['pending'], limit: 9, now: 1_000 }))).toEqual(['ap_3']);
    expect(ids(await approvals.list({ statuses: ['pending'], limit: 9, principal: 'key:ops' }))).toEqual([]);
    expect(await approvals.count({ statuses: ['pending', 'rejected'], principal: 'key:ci' })).toBe(3);
    expect(await approvals.count({ statuses: ['pending', 'rejected'], now: 1_000 })).toBe(2);
    expect(await approvals.nextExpiry()).toBe(1_000);
    expect(ids(await approvals.due(2_500, 10))).toEqual(['ap_1']);
    expect(ids(await approvals.due(3_000, 10))).toEqual(['ap_1', 'ap_3']);
  });

  verifies('G6', 'returns the times of the rejections of one principal and tool since a time', async () => {
    const { approvals } = bench.store;
    for (const [n, at] of [1_000, 2_000, 3_000].entries()) {
      const one = approvalOf(`ap_${n}`);
      await approvals.open(one, LIMITS);
      await approvals.replace(settled(one, 'rejected', at));
    }
    expect(await approvals.rejections('key:ci', 'files.delete', 2_000)).toEqual([3_000, 2_000]);
    expect(await approvals.rejections('key:ci', 'files.read', 0)).toEqual([]);
    expect(await approvals.rejections('key:ops', 'files.delete', 0)).toEqual([]);
  });

  it('lists pending approvals that the webhook has not received', async () => {
    const { approvals } = bench.store;
    for (const id of ['ap_1', 'ap_2']) await approvals.open(approvalOf(id), LIMITS);
    await approvals.markNotified('ap_1', 5_000);
    expect((await approvals.unnotified(60_999, 10)).map(({ id }) => id)).toEqual(['ap_2']);
    expect(await approvals.unnotified(61_000, 10)).toEqual([]);
    await approvals.replace(settled(approvalOf('ap_2'), 'rejected'));
    expect(await approvals.unnotified(0, 10)).toEqual([]);
  });

  verifies('G6', 'reports the decision of another process to a watcher, and nothing once it has ended', async () => {
    const other = await openStore({ location: bench.database.location });
    const first = approvalOf('ap_one');
    await bench.store.approvals.open(first, LIMITS);
    const onChange = vi.fn();
    const end = bench.store.approvals.watch(onChange);
    await until('the watcher is called once', () => onChange.mock.calls.length === 1);
    await other.approvals.replace(settled(first, 'rejected'));
    await until('the change is reported', () => onChange.mock.calls.length > 1);
    end();
    const calls = onChange.mock.calls.length;
    await bench.store.approvals.open(approvalOf('ap_two'), LIMITS);
    expect(onChange).toHaveBeenCalledTimes(calls);
    await other.close();
  });

  it('reports a change of this process to its watchers at once', async () => {
    const onChange = vi.fn();
    const end = bench.store.approvals.watch(onChange);
    await until('the watcher is called once', () => onChange.mock.calls.length === 1);
    await bench.store.approvals.open(approvalOf('ap_one'), LIMITS);
    expect(onChange).toHaveBeenCalledWith('ap_one');
    end();
  });
});
