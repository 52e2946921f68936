import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { ada, grace, text } from '../core/fixtures.ts';
import { approvalBench, approvalIdOf, ops } from './approvals/fixtures.ts';

const form = { form: true, url: false, sampling: false, samplingTools: false, roots: false };

describe('a call that needs an approval', () => {
  verifies('G6', 'waits, and runs once after an approver has approved', async () => {
    const bench = await approvalBench();
    const first = await bench.send({ input: { a: 1 } });
    expect(first).toMatchObject({ kind: 'waiting', approval: { approvers: ['role:owner', 'role:approver'] } });
    const id = approvalIdOf(first);
    await bench.flow.decide(ops, id, { verdict: 'approve' });
    await expect(bench.send({ input: { a: 1 } })).resolves.toEqual(text('done'));
    expect(bench.reached).toMatchObject([{ approval: { id, how: 'approved', by: ['key:ops'] } }]);
    expect(await bench.send({ input: { a: 1 } })).toMatchObject({ kind: 'waiting' });
    expect(bench.reached).toHaveLength(1);
  });

  verifies('G7', 'joins the pending approval of the same call, whatever the order of its keys', async () => {
    const bench = await approvalBench();
    const first = await bench.send({ input: { a: 1, b: 2 }, meta: { traceparent: 'a' } });
    const again = await bench.send({ input: { b: 2, a: 1 } });
    expect(approvalIdOf(again)).toBe(approvalIdOf(first));
  });

  verifies('G6', 'gets a rejection of the last 10 minutes with its note, then may ask again', async () => {
    const bench = await approvalBench();
    const id = approvalIdOf(await bench.send());
    await bench.flow.decide(ops, id, { verdict: 'reject', note: 'Not today.' });
    await expect(bench.send()).rejects.toMatchObject({
      code: 'APPROVAL_REJECTED',
      message: expect.stringContaining('Not today.'),
    });
    bench.now += 600_000;
    expect(await bench.send()).toMatchObject({ kind: 'waiting' });
    expect(bench.reached).toEqual([]);
  });

  verifies('G6', 'gets one form if its client has forms and no rule forbids it', async () => {
    const bench = await approvalBench();
    const asked = await bench.send({ capabilities: form });
    expect(asked).toMatchObject({
      kind: 'input-required',
      inputRequests: { 'heddle-approval': { params: { requestedSchema: { required: ['approve'] } } } },
    });
    const continuation = { kind: 'approval', id: approvalIdOf(asked) } as const;
    const respond = (response: object) =>
      bench.send({ capabilities: form, continuation, inputResponses: { 'heddle-approval': { ...response } } });
    for (const response of [{}, { action: 'accept', content: {} }, { action: 'cancel' }, { action: 'accept' }]) {
      expect(await respond(response)).toMatchObject({ kind: 'waiting' });
    }
    expect(bench.reached).toEqual([]);
    await expect(respond({ action: 'accept', content: { approve: true } })).resolves.toEqual(text('done'));
    expect(bench.reached[0]).not.toHaveProperty('inputResponses');
    expect(bench.reached[0]).not.toHaveProperty('continuation');
  });

  verifies('G6', 'is rejected by a form with approve: false or a decline', async () => {
    const bench = await approvalBench();
    for (const [n, response] of [{ action: 'decline' }, { action: 'accept', content: { approve: false } }].entries()) {
      const asked = await bench.send({ capabilities: form, input: { n } });
      const continuation = { kind: 'approval', id: approvalIdOf(asked) } as const;
      const inputResponses = { 'heddle-approval': response };
      await expect(
        bench.send({ capabilities: form, input: { n }, continuation, inputResponses }),
      ).rejects.toMatchObject({ code: 'APPROVAL_REJECTED' });
    }
  });

  verifies('G2', 'passes for the owner at the terminal who approved it, unless a rule needs others', async () => {
    const bench = await approvalBench(grace);
    await bench.send({ approved: 'self' });
    expect(bench.reached).toMatchObject([{ approval: { how: 'self', by: ['grace'] } }]);
    const rule = { name: 'two', stages: [{ approvers: ['role:approver'], need: 1 }], notRequester: true };
    bench.approvals = { rules: [{ ...rule, client: true, standing: true }] };
    expect(await bench.send({ approved: 'self' })).toMatchObject({ kind: 'waiting' });
  });

  verifies('G6', 'stays rejected for 10 minutes if the owner at the terminal approves it, too', async () => {
    const bench = await approvalBench(grace);
    const self = (input = {}) => bench.send({ approved: 'self', input });
    for (const n of [1, 2, 3]) {
      const id = approvalIdOf(await bench.send({ input: { n } }));
      await bench.flow.decide(ops, id, { verdict: 'reject', note: 'Not on a Friday.' });
      await expect(self({ n })).rejects.toMatchObject({
        code: 'APPROVAL_REJECTED',
        message: expect.stringContaining('Not on a Friday.'),
      });
    }
    await expect(self({ n: 4 })).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
    expect(bench.reached).toEqual([]);
    bench.now += 600_000;
    await expect(self({ n: 4 })).resolves.toEqual(text('done'));
  });

  verifies('G6', 'is refused at once if no approver is asked or none can decide', async () => {
    const bench = await approvalBench();
    bench.approvals = { unattended: true };
    await expect(bench.send()).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
    const byOwner = { approved: 'self', caller: grace } as const;
    await expect(bench.send(byOwner)).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
    const rule = { name: 'gone', stages: [{ approvers: ['key:gone'], need: 1 }], notRequester: false };
    bench.approvals = { rules: [{ ...rule, client: true, standing: true }] };
    await expect(bench.send()).rejects.toMatchObject({
      code: 'APPROVAL_REQUIRED',
      message: expect.stringContaining('key:gone'),
    });
  });

  verifies('G6', 'is not allowed for another principal or another call by its continuation', async () => {
    const bench = await approvalBench();
    const id = approvalIdOf(await bench.send({ input: { a: 1 } }));
    const continuation = { kind: 'approval', id } as const;
    await expect(bench.send({ caller: { ...ada, id: 'eve' }, continuation })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
    });
    await expect(bench.send({ input: { a: 2 }, continuation })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });
});
