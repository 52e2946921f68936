import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { ada, aTarget, text } from '../../core/fixtures.ts';
import { approvalBench, approvalIdOf, type Bench, ops } from './fixtures.ts';
import { matchesArgument } from './standing.ts';
import { addStanding, requireStandingPossible } from './standing-uses.ts';

/** Requests an approval and makes it a standing one. */
async function stand(
  bench: Bench,
  wish: Parameters<typeof requireStandingPossible>[1],
  input: JsonObject = { path: 'reports/a' },
) {
  const id = approvalIdOf(await bench.send({ input }));
  const approval = await bench.store.approvals.get(id);
  if (!approval) throw new Error('It is gone.');
  requireStandingPossible(approval, wish);
  await bench.flow.decide(ops, id, { verdict: 'approve' });
  await bench.send({ input });
  return addStanding(bench.flow, { by: ops, approval, wish });
}

describe('a standing approval', () => {
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

  verifies('G6', 'settles the pending approvals that it covers', async () => {
    const bench = await approvalBench();
    const pending = approvalIdOf(await bench.send({ input: { path: 'reports/z' } }));
    const other = approvalIdOf(await bench.send({ input: { path: 'z' } }));
    await stand(bench, { arguments: { path: 'reports/*' } });
    expect((await bench.flow.box.get(pending))?.status).toBe('approved');
    expect((await bench.flow.box.get(other))?.status).toBe('pending');
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
