import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Caller, ResolvedCall, Result } from '../../core/call.ts';
import { aCall, ada, aTarget } from '../../core/fixtures.ts';
import { coalesce } from './coalesce.ts';

const bob: Caller = { ...ada, id: 'bob' };
const target = aTarget({ kind: 'resource', publicName: 'u:1', name: 'u:1', facts: { readOnly: true } });
const aRead = (more: Partial<ResolvedCall> = {}) => aCall({ kind: 'resource', name: 'u:1', target, ...more });

function setting() {
  const flights: { call: ResolvedCall; land(scope?: string): void; fail(error: Error): void }[] = [];
  const { stage, split } = coalesce();
  const next = (call: ResolvedCall) => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const land = (scope?: string) =>
      resolve({
        kind: 'complete',
        value: { of: flights.length, ...(scope && { cacheScope: scope }) },
        isError: false,
        provenance: { server: 'demo', attempts: 1, latencyMs: 1 },
      });
    flights.push({ call, land, fail: reject });
    return promise;
  };
  return { flights, split, send: (call: ResolvedCall) => stage(call, next) };
}

verifies('R7', 'the same read by the same principal at the same time is one', async () => {
  const { flights, send } = setting();
  const reads = [send(aRead()), send(aRead()), send(aRead())];
  expect(flights).toHaveLength(1);
  flights[0]?.land();
  const [one, ...others] = await Promise.all(reads);
  for (const other of others) expect(other).toBe(one);
  void send(aRead());
  expect(flights).toHaveLength(2);
});

verifies('R7', 'reads of different principals are one only when the last was public, and still is', async () => {
  const { flights, send } = setting();
  const first = [send(aRead()), send(aRead({ caller: bob }))];
  expect(flights).toHaveLength(2);
  for (const flight of flights) flight.land('public');
  await Promise.all(first);
  const second = [send(aRead()), send(aRead({ caller: bob }))];
  expect(flights).toHaveLength(3);
  flights[2]?.land('public');
  expect((await Promise.all(second))[0]).toBe((await Promise.all(second))[1]);
  const third = [send(aRead()), send(aRead({ caller: bob }))];
  flights[3]?.land('private');
  await third[0];
  await Promise.resolve();
  expect(flights.map(({ call }) => call.caller.id)).toEqual(['ada', 'bob', 'ada', 'ada', 'bob']);
  flights[4]?.land('private');
  expect(await third[1]).not.toBe(await third[0]);
});

verifies('R7', 'one who leaves takes the read from nobody; the last one ends it', async () => {
  const { flights, send } = setting();
  const leaving = [new AbortController(), new AbortController()];
  const reads = leaving.map(({ signal }) => send(aRead({ signal })));
  leaving[0]?.abort();
  await expect(reads[0]).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(flights[0]?.call.signal.aborted).toBe(false);
  leaving[1]?.abort();
  await expect(reads[1]).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(flights[0]?.call.signal.aborted).toBe(true);
  flights[0]?.fail(new Error('cancelled'));
});

verifies('R7', 'a read that fails fails for all who wait, and the next one is a new one', async () => {
  const { flights, send } = setting();
  const reads = [send(aRead()), send(aRead())];
  flights[0]?.fail(new Error('gone'));
  for (const read of reads) await expect(read).rejects.toThrow('gone');
  void send(aRead());
  expect(flights).toHaveLength(2);
});

verifies('R7', 'whoever reads after a write never gets what was read before it was over', async () => {
  const { flights, send, split } = setting();
  void send(aRead());
  const write = send(aCall());
  void send(aRead());
  expect(flights.map(({ call }) => call.kind)).toEqual(['resource', 'tool', 'resource']);
  flights[1]?.land();
  await write;
  void send(aRead());
  void send(aRead());
  expect(flights).toHaveLength(4);
  void send(aCall({ target: aTarget({ facts: { readOnly: true } }) }));
  void send(aRead());
  expect(flights).toHaveLength(5);
  split('demo');
  void send(aRead());
  expect(flights).toHaveLength(6);
});

verifies('R7', 'whoever can be asked, listens for progress or logs, or goes on with a call reads alone', () => {
  const { flights, send } = setting();
  const capabilities = { form: true, url: false, sampling: false, samplingTools: false, roots: false };
  const from = { kind: 'upstream', server: 'demo' } as const;
  const log = { level: 'debug', tell: () => {} };
  for (const more of [{ capabilities }, { report: () => {} }, { log }, { from }, { options: { timeoutMs: 5 } }]) {
    void send(aRead());
    void send(aRead(more));
  }
  expect(flights).toHaveLength(6);
});

verifies('R7', 'whoever reads again right after the last one left has a read of its own', async () => {
  const { flights, send } = setting();
  const leaving = new AbortController();
  const left = send(aRead({ signal: leaving.signal }));
  leaving.abort();
  await expect(left).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  const again = send(aRead());
  expect(flights).toHaveLength(2);
  flights[0]?.fail(new Error('cancelled'));
  flights[1]?.land();
  await expect(again).resolves.toMatchObject({ kind: 'complete' });
});
