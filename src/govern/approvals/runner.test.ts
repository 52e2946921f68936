import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { newCallId } from '../../core/call/call-id.ts';
import { ada, text } from '../../core/fixtures.ts';
import type { Timer } from '../../core/time.ts';
import { DIALECTS, testPostgres } from '../../store/fixtures.ts';
import { realStore } from '../fixtures.ts';
import { approvalBench, approvalIdOf, ops } from './fixtures.ts';
import { approvalRunner } from './runner.ts';

describe.each(DIALECTS)('an approved call on $dialect', ({ dialect, fresh }) => {
  describe.skipIf(dialect === 'postgres' && !testPostgres)('that runs in another process', () => {
    /** Opens the approvals of two processes. The call of the first one runs until `finish`. */
    async function running() {
      const store = await realStore(fresh);
      const [first, other] = [await approvalBench(ada, store), await approvalBench(ada, store)];
      const id = approvalIdOf(await first.send());
      await first.flow.decide(ops, id, { verdict: 'approve' });
      const { promise, resolve } = Promise.withResolvers<void>();
      first.invoke = async () => {
        await promise;
        return text('done');
      };
      const result = first.send();
      await until('the server has the call', () => first.reached.length === 1);
      return { first, other, id, result, finish: resolve, store };
    }

    verifies('G7', 'is not repeated, and its outcome is not called unknown', async () => {
      const { other, id, result, finish, store } = await running();
      for (const _ of [1, 2]) {
        await expect(other.send({ id: newCallId() })).rejects.toMatchObject({
          code: 'APPROVAL_SETTLED',
          message: expect.stringContaining('in another process. Its outcome is not known yet.'),
          details: { approval: id },
        });
      }
      expect((await store.approvals.get(id))?.outcome).toBeUndefined();
      finish();
      await expect(result).resolves.toEqual(text('done'));
      await until('the end is stored', async () => (await store.approvals.get(id))?.outcome === 'complete');
      expect((await other.send({ id: newCallId() })).kind).toBe('waiting');
      expect(other.reached).toEqual([]);
    });

    verifies('F8', 'is OUTCOME_UNKNOWN once its process is gone', async () => {
      const { first, other, finish, store, result } = await running();
      first.flow.close();
      await store.leases.release({ ...(await leaseOf(store)), epoch: 0, expiresAt: 0 });
      await expect(other.send({ id: newCallId() })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
      finish();
      await result;
    });

    async function leaseOf(store: Awaited<ReturnType<typeof realStore>>) {
      const [row] = await store.committed(`SELECT name, holder FROM leases WHERE name LIKE 'approvals.runner %'`);
      return row as { name: string; holder: string };
    }

    verifies('G7', 'is used once by 50 callers of two processes', async () => {
      const store = await realStore(fresh);
      const [first, other] = [await approvalBench(ada, store), await approvalBench(ada, store)];
      const id = approvalIdOf(await first.send());
      await first.flow.decide(ops, id, { verdict: 'approve' });
      const continuation = { kind: 'approval', id } as const;
      const sent = Array.from({ length: 50 }, (_, n) =>
        (n % 2 ? first : other).send({ id: `caller-${n}`, continuation }).then(
          ({ kind }) => kind,
          ({ code }) => code as string,
        ),
      );
      const ends = await Promise.all(sent);
      expect(ends.filter((end) => end === 'complete')).toHaveLength(1);
      expect(new Set(ends)).not.toContain('OUTCOME_UNKNOWN');
      expect([...first.reached, ...other.reached]).toHaveLength(1);
    });
  });
});

describe('the lease of a process', () => {
  async function open() {
    const store = await realStore();
    const timers: (() => void)[] = [];
    const timer: Timer = (_, callback) => {
      timers.push(callback);
      return () => timers.splice(timers.indexOf(callback), 1);
    };
    let names = 0;
    const dead = new Set<string>();
    const processes = { owner: () => `p${++names}`, isOwnerDead: (name: string) => dead.has(name) };
    return { store, timers, dead, runner: approvalRunner({ leases: store.leases, processes, timer }) };
  }

  verifies('G7', 'is renewed while calls run, and released after the last one', async () => {
    const { runner, timers, store } = await open();
    const name = await runner.begin();
    expect([await runner.begin(), await runner.isAlive(name), await runner.isAlive('other')]).toEqual([
      name,
      true,
      false,
    ]);
    await store.committed('UPDATE leases SET expires_at = 0');
    timers.shift()?.();
    await until('the lease is renewed', () => runner.isAlive(name));
    runner.end();
    runner.end();
    expect(await runner.isAlive(name)).toBe(true);
    timers.shift()?.();
    await until('the lease is released', async () => !(await runner.isAlive(name)));
    expect(timers).toEqual([]);
    expect(await runner.begin()).not.toBe(name);
    expect(await store.committed('SELECT name FROM leases')).toHaveLength(1);
  });

  verifies('F8', 'is held again after a standstill in which it was over, by the same name', async () => {
    const { runner, timers, store } = await open();
    const name = await runner.begin();
    await store.committed('UPDATE leases SET expires_at = 0');
    expect(await runner.isAlive(name)).toBe(false);
    timers.shift()?.();
    await until('the lease is renewed', () => runner.isAlive(name));
    await store.committed('DELETE FROM leases');
    timers.shift()?.();
    await until('the lease is taken again', () => runner.isAlive(name));
    await until('it is noted', () => timers.length === 1);
    expect(await runner.begin()).toBe(name);
    runner.end();
    runner.end();
    timers.shift()?.();
    await until('the lease is released', async () => !(await runner.isAlive(name)));
  });

  verifies('F8', 'counts no longer if its process on this machine is dead', async () => {
    const { runner, dead } = await open();
    const name = await runner.begin();
    dead.add(name);
    expect(await runner.isAlive(name)).toBe(false);
  });

  verifies('G7', 'is released on close', async () => {
    const { runner, store, timers } = await open();
    await runner.begin();
    runner.end();
    runner.close();
    await until('no lease is left', async () => (await store.committed('SELECT name FROM leases')).length === 0);
    expect(timers).toEqual([]);
  });
});
