import { setImmediate } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { PendingApproval } from '../../core/call/approval.ts';
import type { Call, JsonObject, Result } from '../../core/call.ts';
import { aCall, text } from '../../core/fixtures.ts';
import type { Timer } from '../../core/time.ts';
import type { Heddle } from '../../heddle.ts';
import { approvalWaits, increasing } from './approval-waits.ts';

const APPROVAL: PendingApproval = {
  id: 'ap_1',
  approvers: ['role:approver', 'key:ops'],
  expiresAt: 300_000,
  reason: 'It deletes.',
};
const CONTINUATION = { kind: 'approval', id: 'ap_1' } as const;
const WAITING = { kind: 'waiting', approval: APPROVAL, continuation: CONTINUATION } as const;
const FORM: Result = {
  kind: 'input-required',
  inputRequests: { form: { method: 'elicitation/create', params: {} } },
  approval: APPROVAL,
  continuation: CONTINUATION,
};
const PENDING = { code: 'APPROVAL_PENDING', details: { approval: 'ap_1', approvers: APPROVAL.approvers } };

/** Waits over a Heddle whose approval is decided by `decide`, and whose `dispatch` gives these results. */
function open(results: readonly Result[] = [], keepOpenMs = 50_000, attendedMs = keepOpenMs) {
  const timers = new Map<() => void, number>();
  const timer: Timer = (delayMs, callback) => {
    timers.set(callback, delayMs);
    return () => timers.delete(callback);
  };
  const fire = (delayMs: number) => {
    for (const [callback, at] of [...timers]) if (at === delayMs) callback();
  };
  const decisions: (() => void)[] = [];
  const signals: AbortSignal[] = [];
  const dispatched: Call[] = [];
  let now = 0;
  const heddle = {
    access: { settings: () => ({ approvals: { keepOpenMs } }) },
    async dispatch(call: Call) {
      dispatched.push(call);
      return results[dispatched.length - 1] as Result;
    },
    approvals: {
      keepOpenMs: async () => {
        if (Number.isNaN(attendedMs)) throw new Error('The store is gone.');
        return attendedMs;
      },
      settled: (_by: unknown, _id: string, signal: AbortSignal) => {
        signals.push(signal);
        return new Promise<void>((resolve, reject) => {
          decisions.push(resolve);
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        });
      },
    },
  } as unknown as Heddle;
  const waits = approvalWaits(heddle, { timer, clock: () => now });
  const decide = () => {
    for (const resolve of decisions.splice(0)) resolve();
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { waits, decide, fire, pass, timers, signals, dispatched };
}

/** Expects that a call still waits after all microtasks have run. */
async function expectPending(result: Promise<unknown>): Promise<void> {
  expect(await Promise.race([result, setImmediate('pending')])).toBe('pending');
}

describe('a request that waits for an approver', () => {
  verifies('G7', 'goes on once the approval is decided, without the responses to a form', async () => {
    const { waits, decide, dispatched, timers } = open([text('done')]);
    const result = waits.goOn(WAITING, aCall({ inputResponses: { form: { action: 'cancel' } } }));
    decide();
    expect(await result).toMatchObject({ kind: 'complete' });
    expect(dispatched).toMatchObject([{ continuation: CONTINUATION }]);
    expect(dispatched[0]).not.toHaveProperty('inputResponses');
    expect(timers.size).toBe(0);
  });

  verifies('G7', 'fails after keepOpenMs with the id, the approvers and what to do', async () => {
    const { waits, fire, signals, timers } = open();
    const result = waits.goOn(WAITING, aCall());
    fire(50_000);
    await expect(result).rejects.toMatchObject({
      ...PENDING,
      fix: 'Ask role:approver or key:ops to run `heddle approvals approve ap_1` in a terminal, then repeat the same call.',
    });
    expect([signals.every(({ aborted }) => aborted), timers.size]).toEqual([true, 0]);
  });

  verifies('G7', 'fails after 5 s if no approver is present, and goes on waiting if one is', async () => {
    const { waits, fire, timers } = open([], 50_000, 5000);
    const result = waits.goOn(WAITING, aCall());
    fire(5000);
    await expect(result).rejects.toMatchObject(PENDING);
    expect(timers.size).toBe(0);
    const attended = open([text('done')]);
    const waiting = attended.waits.goOn(WAITING, aCall());
    attended.fire(5000);
    await expectPending(waiting);
    attended.decide();
    expect(await waiting).toMatchObject({ kind: 'complete' });
  });

  verifies('G7', 'goes on waiting if the store cannot tell after 5 s who is present', async () => {
    const { waits, fire, decide } = open([text('done')], 50_000, Number.NaN);
    const result = waits.goOn(WAITING, aCall());
    fire(5000);
    await expectPending(result);
    decide();
    expect(await result).toMatchObject({ kind: 'complete' });
  });

  verifies('G7', 'has one keepOpenMs for all its waits, and a new one when it is sent again', async () => {
    const { waits, decide, fire, pass, timers } = open([WAITING]);
    const result = waits.goOn(WAITING, aCall());
    pass(20_000);
    decide();
    await until('it waits again', () => [...timers.values()].includes(30_000));
    fire(30_000);
    await expect(result).rejects.toMatchObject(PENDING);
    const again = waits.goOn(WAITING, aCall());
    await until('it waits as long as at first', () => [...timers.values()].includes(50_000));
    fire(50_000);
    await expect(again).rejects.toMatchObject(PENDING);
  });

  verifies('G7', 'fails at once with keepOpenMs 0, and when the gateway closes', async () => {
    await expect(open([], 0).waits.goOn(WAITING, aCall())).rejects.toMatchObject(PENDING);
    const { waits } = open();
    const result = waits.goOn(WAITING, aCall());
    waits.close();
    await expect(result).rejects.toMatchObject(PENDING);
    await expect(waits.goOn(WAITING, aCall())).rejects.toMatchObject(PENDING);
  });

  verifies('G7', 'reports progress that only increases, also when the server starts at 0', async () => {
    const reported: JsonObject[] = [];
    const { waits, decide, fire, dispatched } = open([text('done')]);
    const result = waits.goOn(WAITING, aCall({ onProgress: (progress) => reported.push(progress) }));
    fire(10_000);
    fire(10_000);
    decide();
    await result;
    for (const progress of [0, 1]) dispatched[0]?.onProgress?.({ progress });
    const values = reported.map(({ progress }) => Number(progress));
    expect(values).toEqual([...values].sort((one, other) => one - other));
    expect(new Set(values).size).toBe(4);
    expect(reported[0]?.message).toBe('Waiting for role:approver or key:ops to decide on the approval ap_1.');
  });

  verifies('T10', 'shows a wait also after greater progress of the server', () => {
    const reported: JsonObject[] = [];
    const report = increasing((progress) => reported.push(progress));
    for (const progress of [{ progress: 5 }, { progress: 0, message: 'Waiting.' }, { progress: 5, message: 'old' }]) {
      report(progress);
    }
    report({ progress: 6 });
    expect(reported).toEqual([{ progress: 5 }, { progress: 5 + 1e-6, message: 'Waiting.' }, { progress: 6 }]);
  });

  verifies('P1', 'sends no progress as an update of a subscription', async () => {
    const reported: JsonObject[] = [];
    const { waits, decide } = open([text('done')]);
    const onProgress = (update: JsonObject) => reported.push(update);
    const result = waits.goOn(WAITING, aCall({ kind: 'subscription', onProgress }));
    decide();
    await result;
    expect(reported).toEqual([]);
  });

  verifies('G7', 'ends with its request: the approval stays open', async () => {
    const { waits, signals } = open();
    const request = new AbortController();
    const result = waits.goOn(WAITING, aCall({ signal: request.signal }));
    request.abort();
    await expect(result).rejects.toThrow();
    expect(signals.every(({ aborted }) => aborted)).toBe(true);
  });
});

describe('the form of an approval', () => {
  const withdrawnOf = (result: Result) => (result.kind === 'input-required' ? result.withdrawn : undefined);

  verifies('G6', 'is withdrawn when another approver decides', async () => {
    const { waits, decide } = open();
    const withdrawn = withdrawnOf(waits.withdrawable(FORM, aCall()));
    expect(withdrawn?.aborted).toBe(false);
    decide();
    await until('it is withdrawn', () => withdrawn?.aborted === true);
  });

  verifies('G6', 'is withdrawn when the gateway closes, and not shown again', () => {
    const { waits } = open();
    const withdrawn = withdrawnOf(waits.withdrawable(FORM, aCall()));
    waits.close();
    expect(withdrawn?.aborted).toBe(true);
    expect(() => waits.withdrawable(FORM, aCall())).toThrow('demo.echo waits for the approval ap_1.');
  });

  verifies('G6', 'leaves the input requests of servers alone', () => {
    const { waits, signals } = open();
    const upstream: Result = { ...FORM, continuation: { kind: 'upstream', server: 'demo' } };
    expect([waits.withdrawable(upstream, aCall()), signals.length]).toEqual([upstream, 0]);
  });
});
