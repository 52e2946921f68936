import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { DecidedCall, JsonObject } from '../../core/call.ts';
import { ada, aTarget, text } from '../../core/fixtures.ts';
import { anApprovalRule, approvalBench, approvalIdOf, type Bench, ops } from './fixtures.ts';
import { matchesArgument, unexpired } from './standing.ts';
import { addStanding, requireStandingPossible } from './standing-uses.ts';

/** Requests an approval and makes it a standing one. */
async function stand(
  bench: Bench,
  wish: Parameters<typeof requireStandingPossible>[1],
  input: JsonObject = { path: 'reports/a' },
  meta: JsonObject = {},
) {
  const id = approvalIdOf(await bench.send({ input, meta }));
  const approval = await bench.store.approvals.get(id);
  if (!approval) throw new Error('It is gone.');
  requireStandingPossible(approval, wish);
  await bench.flow.decide(ops, id, { verdict: 'approve' });
  await bench.send({ input, meta });
  return (await addStanding(bench.flow, { by: ops, approval, wish })).standing;
}

describe('a standing approval', () => {
  verifies('G7', 'whose last use was taken meanwhile leaves the approval of a waiting call pending', async () => {
    const bench = await approvalBench();
    const waiting = { id: 'w', input: { n: 1 } };
    const id = approvalIdOf(await bench.send(waiting));
    const { binding } = await stand(bench, { uses: 1, arguments: { path: 'reports/*' } });
    const one = { id: 'st_1', tool: 'mcp__demo__echo', caller: 'ada', arguments: {}, digest: bench.target.digest };
    const granted = { approvedBy: 'key:ops', approverRoles: ['approver'], from: 'store' } as const;
    await bench.flow.standing.add({
      ...one,
      ...granted,
      ...(binding !== undefined && { binding }),
      usesLeft: 5,
      createdAt: 1,
    });
    const { use } = bench.flow.standing;
    const again = () => bench.send({ ...waiting, continuation: { kind: 'approval', id } });
    bench.flow.standing.use = async () => false;
    expect(await again()).toMatchObject({ kind: 'waiting', approval: { id } });
    bench.flow.standing.use = use;
    const before = bench.reached.length;
    await Promise.allSettled(Array.from({ length: 4 }, again));
    expect(bench.reached.length - before).toBe(1);
    expect((await bench.flow.standing.all()).find((standing) => standing.id === 'st_1')).toMatchObject({ usesLeft: 4 });
  });

  verifies('G6', 'covers calls with the `_meta` that it was given for, whatever their ids', async () => {
    const bench = await approvalBench();
    const meta = { command: 'ls', 'claudecode/toolUseId': 'a' };
    const waiting = approvalIdOf(await bench.send({ id: 'w', input: { path: 'reports/w' }, meta: { command: 'rm' } }));
    await stand(bench, {}, { path: 'reports/a' }, meta);
    expect(await bench.flow.box.get(waiting)).toMatchObject({ status: 'pending' });
    const input = { path: 'reports/b' };
    const again = { command: 'ls', 'claudecode/toolUseId': 'b', traceparent: 'c' };
    await expect(bench.send({ input, meta: again })).resolves.toEqual(text('done'));
    for (const other of [{}, { command: 'rm' }, { ...meta, extra: 1 }, { ...meta, 'claudecode/toolUseId': 1 }]) {
      expect((await bench.send({ input, meta: other })).kind).toBe('waiting');
    }
  });

  verifies('G6', 'is compared with a call by bindings that are computed once, however many are stored', async () => {
    const bench = await approvalBench();
    let read = 0;
    Object.defineProperty(bench, 'signature', {
      get() {
        read++;
        return 's';
      },
    });
    const readBy = async (path: string) => {
      read = 0;
      expect((await bench.send({ input: { path } })).kind).toBe('waiting');
      return read;
    };
    const standInBothWays = async (path: string) => {
      await stand(bench, { exactly: true }, { path });
      await stand(bench, { arguments: { path } }, { path, more: 1 });
    };
    await standInBothWays('a');
    const withTwo = await readBy('x');
    for (const path of ['b', 'c', 'd']) await standInBothWays(path);
    expect(await readBy('y')).toBe(withTwo);
  });

  verifies('G6', 'settles matching calls of its requester and tool, and no others', async () => {
    const bench = await approvalBench();
    await stand(bench, { arguments: { path: 'reports/*' } });
    await expect(bench.send({ input: { path: 'reports/b' } })).resolves.toEqual(text('done'));
    const others = [
      { input: { path: 'secret/b' } },
      { input: { path: 'reports/../x' } },
      { input: {} },
      { input: { path: 'reports/b' }, caller: { ...ada, id: 'eve' } },
      { input: { path: 'reports/b' }, target: aTarget({ digest: 'beef' }) },
      { input: { path: 'reports/b' }, target: aTarget({ publicName: 'mcp__other__echo' }) },
    ];
    for (const other of others) expect(await bench.send(other)).toMatchObject({ kind: 'waiting' });
  });

  verifies('G6', 'matches an argument path only if every way to read it does', async () => {
    const bench = await approvalBench();
    await stand(bench, { arguments: { 'options.path': 'reports/*' } }, { options: { path: 'reports/a' } });
    const good = { options: { path: 'reports/b' } };
    await expect(bench.send({ input: good })).resolves.toEqual(text('done'));
    await expect(bench.send({ input: { 'options.path': 'reports/b' } })).resolves.toEqual(text('done'));
    await expect(bench.send({ input: { 'options.path': 'reports/b', ...good } })).resolves.toEqual(text('done'));
    const others = [
      { 'options.path': 'reports/a', options: { path: '/etc/shadow' } },
      { 'options.path': '/etc/shadow', options: { path: 'reports/a' } },
      { 'options.path': 'reports/a', options: { path: null } },
    ];
    for (const input of others) expect(await bench.send({ input })).toMatchObject({ kind: 'waiting' });
  });

  verifies('G6', 'covers no other kind, profile or params, and no changed server entry', async () => {
    const bench = await approvalBench();
    const { binding: _, ...old } = await stand(bench, {});
    const others: Partial<DecidedCall>[] = [
      { kind: 'prompt' },
      { caller: { ...ada, profile: 'other' } },
      { extraParams: { hidden: 1 } },
      { target: aTarget({ servers: ['demo', 'second'] }) },
    ];
    for (const other of others) expect(await bench.send({ input: {}, ...other })).toMatchObject({ kind: 'waiting' });
    await expect(bench.send({ input: {} })).resolves.toEqual(text('done'));
    bench.signature = 'another command';
    expect(await bench.send({ input: {} })).toMatchObject({ kind: 'waiting' });
    // One that an earlier version stored says too little.
    await bench.flow.standing.add({ ...old, id: 'st_old' });
    expect(await bench.send({ input: { n: 1 } })).toMatchObject({ kind: 'waiting' });
  });

  for (const noticedBy of ['a sweep', 'a call', 'a list'] as const) {
    verifies('G6', `stays over if the clock is set back: noticed by ${noticedBy}`, async () => {
      const bench = await approvalBench();
      await stand(bench, { untilMs: 1000 });
      bench.now += 1000;
      if (noticedBy === 'a sweep') await bench.flow.sweep();
      else if (noticedBy === 'a call') await bench.send({ input: { n: 1 } });
      else expect(await unexpired(bench.flow)).toEqual([]);
      bench.now -= 1000;
      expect(await bench.send({ input: { n: 2 } })).toMatchObject({ kind: 'waiting' });
    });
  }

  verifies('G6', 'ends after its uses, at its time, and when it is revoked', async () => {
    const bench = await approvalBench();
    await stand(bench, { uses: 2 });
    await bench.send({ input: { n: 1 } });
    await bench.send({ input: { n: 2 } });
    expect(await bench.send({ input: { n: 3 } })).toMatchObject({ kind: 'waiting' });
    await stand(bench, { untilMs: 1000 }, { path: 'b' });
    await expect(bench.send({ input: { n: 4 } })).resolves.toEqual(text('done'));
    bench.now += 1000;
    expect(await bench.send({ input: { n: 5 } })).toMatchObject({ kind: 'waiting' });
    const { id } = await stand(bench, {}, { path: 'c' });
    await bench.flow.standing.revoke(id);
    expect(await bench.send({ input: { n: 6 } })).toMatchObject({ kind: 'waiting' });
  });

  verifies('G6', 'is for later calls: the approved call itself uses its approval', async () => {
    const bench = await approvalBench();
    const input = { path: 'a' };
    const id = approvalIdOf(await bench.send({ input }));
    const approval = await bench.store.approvals.get(id);
    if (!approval) throw new Error('It is gone.');
    await bench.flow.decide(ops, id, { verdict: 'approve' });
    await addStanding(bench.flow, { by: ops, approval, wish: { uses: 1 } });
    await bench.send({ input });
    await bench.send({ input });
    expect(bench.reached.map((call) => call.approval?.how)).toEqual(['approved', 'standing']);
    expect(await bench.send({ input })).toMatchObject({ kind: 'waiting' });
  });

  verifies('G6', 'of a session ends with it', async () => {
    const bench = await approvalBench({ ...ada, session: 's1' });
    await stand(bench, { session: true });
    await expect(bench.send({ input: { n: 1 } })).resolves.toEqual(text('done'));
    expect(await bench.send({ input: { n: 2 }, caller: { ...ada, session: 's2' } })).toMatchObject({ kind: 'waiting' });
  });

  verifies('G6', 'of a session is refused for a command, which ends with its session', async () => {
    const bench = await approvalBench({ ...ada, session: 's1', via: 'cli' });
    await expect(stand(bench, { session: true })).rejects.toMatchObject({
      message: expect.stringContaining('a command ends with its session'),
    });
  });

  verifies('G6', 'uses nothing up for a pending approval that its approver may not decide', async () => {
    const bench = await approvalBench();
    bench.approvals = { rules: [anApprovalRule({ stages: [{ approvers: ['role:owner'], need: 1 }] })] };
    const pending = approvalIdOf(await bench.send({ input: { n: 1 } }));
    bench.approvals = {};
    await stand(bench, { uses: 1 });
    expect((await bench.flow.box.get(pending))?.status).toBe('pending');
    expect((await bench.flow.standing.all())[0]?.usesLeft).toBe(1);
  });

  verifies('G6', 'is not possible for rules with several approvers, nor with `standing: false`', async () => {
    const bench = await approvalBench();
    const rule = { name: 'r', stages: [{ approvers: ['role:approver', 'role:owner'], need: 2 }], notRequester: false };
    bench.approvals = { rules: [{ ...rule, client: true, standing: true }] };
    await expect(stand(bench, {})).rejects.toThrow('its rule allows none');
  });

  verifies('G6', 'may be in the configuration', async () => {
    const bench = await approvalBench();
    bench.approvals = { standing: [{ tool: 'mcp__demo', arguments: { path: 'a' } }] };
    await expect(bench.send({ input: { path: 'a' } })).resolves.toEqual(text('done'));
    expect(bench.reached).toMatchObject([{ approval: { how: 'standing', by: ['configuration'] } }]);
    expect(await bench.send({ input: { path: 'b' } })).toMatchObject({ kind: 'waiting' });
  });

  verifies('G6', 'matches globs without crossing a slash or `..`', () => {
    const matching = [
      ['reports/*', 'reports/a.txt'],
      ['*', 'a'],
      ['a', 'a'],
      ['1', 1],
      ['true', true],
    ] as const;
    for (const [glob, value] of matching) expect([glob, matchesArgument(glob, value)]).toEqual([glob, true]);
    const others = [
      ['reports/*', 'reports/a/b'],
      ['reports/*', 'reports/..'],
      ['*', '..'],
      ['..', '..'],
      ['*', 'a/b'],
      ['*', 'a\\b'],
      ['reports/*', 'reports/%2e%2e'],
      ['*', { a: 1 }],
      ['*', ['a']],
      ['*', null],
      ['*', undefined],
    ] as const;
    for (const [glob, value] of others) expect([glob, matchesArgument(glob, value)]).toEqual([glob, false]);
  });
});
