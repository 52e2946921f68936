import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { Handler, InputResponses, Progress, ResolvedCall, Result } from '../../core/call.ts';
import { aCall, ada, grace, text } from '../../core/fixtures.ts';
import { anApprovalRule, approvalBench, approvalIdOf, type Bench, ops } from '../approvals/fixtures.ts';
import { addStanding, requireStandingPossible } from '../approvals/standing-uses.ts';
import type { Taints } from '../policy/taints.ts';
import { withHooks } from './fixtures.ts';

const REFUSED = { q: { failed: { code: -1, message: 'The request was refused.' } } };
const SAMPLING = { method: 'sampling/createMessage', params: { maxTokens: 10 } } as const;
const sampled: Result = {
  kind: 'input-required',
  inputRequests: { q: SAMPLING },
  continuation: { kind: 'suspended', server: 'demo', ticket: 't' },
};

/** A server that sends one sampling request, and ends after its response. */
function server() {
  const sent: (InputResponses | undefined)[] = [];
  const next: Handler<ResolvedCall> = async ({ inputResponses }) => {
    sent.push(inputResponses);
    return sent.length === 1 ? sampled : text('done');
  };
  return { sent, next };
}

/** Opens a stage with `sampling.permission: ask`. */
const asking = (bench: Bench, taints?: Taints) =>
  withHooks({}, {}, { sampling: { permission: 'ask' }, openFlow: async () => bench.flow, ...(taints && { taints }) })
    .stage;

/** Waits for the one pending approval. */
async function pendingOf(bench: Bench) {
  const all = () => bench.flow.box.list({ statuses: ['pending'], limit: 9 });
  await until('an approval waits', async () => (await all()).length === 1);
  const [approval] = await all();
  if (!approval) throw new Error('It is gone.');
  return approval;
}

verifies('T10', 'sampling.permission deny refuses each sampling request', async () => {
  const { stage } = withHooks({}, {}, { sampling: { permission: 'deny' } });
  const { sent, next } = server();
  await expect(stage(aCall(), next)).resolves.toEqual(text('done'));
  expect(sent).toEqual([undefined, REFUSED]);
});

for (const verdict of ['approve', 'reject'] as const) {
  verifies('T10', `sampling.permission ask waits for an approver: ${verdict}`, async () => {
    const bench = await approvalBench();
    const { sent, next } = server();
    const progress: Progress[] = [];
    const call = aCall({ caller: ada, onProgress: (one) => void progress.push(one) });
    const outcome = asking(bench)(call, next);
    const approval = await pendingOf(bench);
    expect(approval).toMatchObject({
      rule: 'sampling.permission',
      reasons: ["The server demo asks for a message of the caller's model."],
      allowsStanding: false,
      subject: {
        kind: 'sampling',
        name: 'mcp__demo__echo',
        arguments: { 'sampling/createMessage': { maxTokens: 10 } },
      },
    });
    await until('the requester knows', async () => progress.length > 0);
    expect(progress).toEqual([
      { progress: 0, message: expect.stringMatching(new RegExp(`^Waiting for .* the approval ${approval.id}\\.$`)) },
    ]);
    await bench.flow.decide(grace, approval.id, { verdict, note: 'Seen.' });
    await expect(outcome).resolves.toEqual(verdict === 'approve' ? sampled : text('done'));
    expect(sent).toEqual(verdict === 'approve' ? [undefined] : [undefined, REFUSED]);
  });
}

verifies('T10', 'a cancelled call withdraws the approval of its sampling request', async () => {
  const bench = await approvalBench();
  const cancelling = new AbortController();
  const outcome = asking(bench)(aCall({ caller: ada, signal: cancelling.signal }), server().next);
  const { id } = await pendingOf(bench);
  cancelling.abort();
  await expect(outcome).rejects.toThrow();
  expect(await bench.flow.box.get(id)).toMatchObject({ status: 'void' });
});

verifies('T10', 'a standing approval of a tool covers no sampling request of its server', async () => {
  const bench = await approvalBench();
  const id = approvalIdOf(await bench.send());
  const approval = await bench.flow.box.get(id);
  if (!approval) throw new Error('It is gone.');
  await bench.flow.decide(ops, id, { verdict: 'approve' });
  await addStanding(bench.flow, { by: ops, approval, wish: {} });
  await bench.send();
  const outcome = asking(bench)(aCall({ caller: ada, target: bench.target }), server().next);
  const pending = await pendingOf(bench);
  await bench.flow.decide(ops, pending.id, { verdict: 'reject', note: 'No.' });
  await expect(outcome).resolves.toEqual(text('done'));
});

verifies(
  'T10',
  'the approval of a sampling request covers no call of the tool, and is never a standing one',
  async () => {
    const bench = await approvalBench();
    const abort = new AbortController();
    const outcome = asking(bench)(aCall({ caller: ada, target: bench.target, signal: abort.signal }), server().next);
    const pending = await pendingOf(bench);
    expect(() => requireStandingPossible(pending, {})).toThrow('its rule allows none');
    // The same arguments, sent as a call: another approval.
    const waiting = await bench.send({ input: { 'sampling/createMessage': { maxTokens: 10 } } });
    expect(approvalIdOf(waiting)).not.toBe(pending.id);
    abort.abort();
    await expect(outcome).rejects.toThrow();
  },
);

verifies('T10', 'approval rules see the labels of the session of a sampling request', async () => {
  const bench = await approvalBench();
  bench.approvals = { rules: [anApprovalRule({ name: 'labelled', when: '"private" in taint' })] };
  const taints = { isTracked: () => true, labelsOf: () => ['private'] } as unknown as Taints;
  const outcome = asking(bench, taints)(aCall({ caller: ada }), server().next);
  const { id, approvalRule } = await pendingOf(bench);
  expect(approvalRule).toBe('labelled');
  await bench.flow.decide(ops, id, { verdict: 'approve' });
  await expect(outcome).resolves.toEqual(sampled);
});

verifies('T10', 'a task that lists the same sampling request with each poll needs one approval', async () => {
  const bench = await approvalBench();
  const stage = asking(bench);
  const continuation = { kind: 'task', server: 'demo', taskId: 't', pollMs: 1 } as const;
  const listed: Result = { kind: 'input-required', inputRequests: { q: SAMPLING }, continuation };
  const poll = () => stage(aCall({ id: 'one-call', caller: ada, continuation }), async () => listed);
  const polls = [poll(), poll()];
  const { id } = await pendingOf(bench);
  await bench.flow.decide(ops, id, { verdict: 'approve' });
  await expect(Promise.all(polls)).resolves.toEqual([listed, listed]);
  await expect(poll()).resolves.toEqual(listed);
  expect(await bench.flow.box.find('ap_')).toHaveLength(1);
  const other = { ...continuation, taskId: 'u' };
  const asked = stage(aCall({ caller: ada, continuation: other }), async () => ({ ...listed, continuation: other }));
  await bench.flow.decide(ops, (await pendingOf(bench)).id, { verdict: 'approve' });
  await asked;
});
