import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Caller, DecidedCall, Result } from '../../core/call.ts';
import { aCall, ada, aTarget } from '../../core/fixtures.ts';
import { coalesce } from './coalesce.ts';

const bob: Caller = { ...ada, id: 'bob' };
const target = aTarget({ kind: 'resource', publicName: 'u:1', name: 'u:1', facts: { readOnly: true } });
const aRead = (more: Partial<DecidedCall> = {}) => aCall({ kind: 'resource', name: 'u:1', target, ...more });

function setting(isPerUser?: (server: string) => boolean) {
  const requests: { call: DecidedCall; complete(scope?: string): void; fail(error: Error): void }[] = [];
  const { stage, split } = coalesce(isPerUser);
  const next = (call: DecidedCall) => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const complete = (scope?: string) =>
      resolve({
        kind: 'complete',
        value: { of: requests.length, ...(scope && { cacheScope: scope }) },
        isError: false,
        provenance: { server: 'demo', attempts: 1, latencyMs: 1 },
      });
    requests.push({ call, complete, fail: reject });
    return promise;
  };
  return { requests, split, send: (call: DecidedCall) => stage(call, next) };
}

verifies('R7', 'coalesces identical concurrent reads of one principal', async () => {
  const { requests, send } = setting();
  const reads = [send(aRead()), send(aRead()), send(aRead())];
  expect(requests).toHaveLength(1);
  requests[0]?.complete();
  const [one, ...others] = await Promise.all(reads);
  for (const other of others) expect(other).toBe(one);
  void send(aRead());
  expect(requests).toHaveLength(2);
});

verifies('R7', 'coalesces reads of different principals only if the last result and this one are public', async () => {
  const { requests, send } = setting();
  const first = [send(aRead()), send(aRead({ caller: bob }))];
  expect(requests).toHaveLength(2);
  for (const request of requests) request.complete('public');
  await Promise.all(first);
  const second = [send(aRead()), send(aRead({ caller: bob }))];
  expect(requests).toHaveLength(3);
  requests[2]?.complete('public');
  expect((await Promise.all(second))[0]).toBe((await Promise.all(second))[1]);
  const third = [send(aRead()), send(aRead({ caller: bob }))];
  requests[3]?.complete('private');
  await third[0];
  await Promise.resolve();
  expect(requests.map(({ call }) => call.caller.id)).toEqual(['ada', 'bob', 'ada', 'ada', 'bob']);
  requests[4]?.complete('private');
  expect(await third[1]).not.toBe(await third[0]);
});

verifies('A6', 'coalesces no public reads of different principals with per-user credentials', async () => {
  const { requests, send } = setting((server) => server === target.servers[0]);
  const first = [send(aRead()), send(aRead({ caller: bob }))];
  for (const request of requests) request.complete('public');
  await Promise.all(first);
  void send(aRead());
  void send(aRead({ caller: bob }));
  expect(requests.map(({ call }) => call.caller.id)).toEqual(['ada', 'bob', 'ada', 'bob']);
});

verifies('R7', 'aborts the request to the server only when the last caller cancels', async () => {
  const { requests, send } = setting();
  const leaving = [new AbortController(), new AbortController()];
  const reads = leaving.map(({ signal }) => send(aRead({ signal })));
  leaving[0]?.abort();
  await expect(reads[0]).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(requests[0]?.call.signal.aborted).toBe(false);
  leaving[1]?.abort();
  await expect(reads[1]).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  expect(requests[0]?.call.signal.aborted).toBe(true);
  requests[0]?.fail(new Error('cancelled'));
});

verifies('R7', 'fails all coalesced reads with the request, and starts a new one afterwards', async () => {
  const { requests, send } = setting();
  const reads = [send(aRead()), send(aRead())];
  requests[0]?.fail(new Error('gone'));
  for (const read of reads) await expect(read).rejects.toThrow('gone');
  void send(aRead());
  expect(requests).toHaveLength(2);
});

verifies('R7', 'does not join a read to one that began before a write ended', async () => {
  const { requests, send, split } = setting();
  void send(aRead());
  const write = send(aCall());
  void send(aRead());
  expect(requests.map(({ call }) => call.kind)).toEqual(['resource', 'tool', 'resource']);
  requests[1]?.complete();
  await write;
  void send(aRead());
  void send(aRead());
  expect(requests).toHaveLength(4);
  void send(aCall({ target: aTarget({ facts: { readOnly: true } }) }));
  void send(aRead());
  expect(requests).toHaveLength(5);
  split('demo');
  void send(aRead());
  expect(requests).toHaveLength(6);
});

verifies('R7', 'does not coalesce reads with capabilities, progress, log, continuation or another timeout', () => {
  const { requests, send } = setting();
  const capabilities = { form: true, url: false, sampling: false, samplingTools: false, roots: false };
  const continuation = { kind: 'upstream', server: 'demo' } as const;
  const log = { level: 'debug', onMessage: () => {} };
  for (const more of [
    { capabilities },
    { onProgress: () => {} },
    { log },
    { continuation },
    { options: { timeoutMs: 5 } },
  ]) {
    void send(aRead());
    void send(aRead(more));
  }
  expect(requests).toHaveLength(6);
});

verifies('R7', 'starts a new read right after the last caller cancelled', async () => {
  const { requests, send } = setting();
  const leaving = new AbortController();
  const left = send(aRead({ signal: leaving.signal }));
  leaving.abort();
  await expect(left).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  const again = send(aRead());
  expect(requests).toHaveLength(2);
  requests[0]?.fail(new Error('cancelled'));
  requests[1]?.complete();
  await expect(again).resolves.toMatchObject({ kind: 'complete' });
});
