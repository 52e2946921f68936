import { expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { ada } from '../../../core/fixtures.ts';
import { approvalBench, approvalIdOf, boss, ops, START } from '../fixtures.ts';
import { requestStepApproval, requireFormContent, type StepToApprove } from './step-approval.ts';

const STEP: StepToApprove = {
  run: 'run-1',
  path: 'decide/ok',
  name: 'mcp__workflow__mitigate',
  digest: 'd',
  caller: { ...ada, via: 'workflow' },
  title: 'Roll back shop?',
  show: { rate: 0.2 },
  quorum: 1,
};

verifies('W3', 'requests the approval of a step once, and shows its run, path and values', async () => {
  const { flow } = await approvalBench();
  const id = await requestStepApproval(flow, { ...STEP, expiresMs: 5000 });
  expect(await requestStepApproval(flow, STEP)).toBe(id);
  expect(await flow.box.get(id)).toMatchObject({
    status: 'pending',
    expiresAt: START + 5000,
    subject: { kind: 'step', description: STEP.title, arguments: STEP.show, run: { id: 'run-1', path: 'decide/ok' } },
  });
  await flow.decide(ops, id, { verdict: 'approve' });
  expect(await requestStepApproval(flow, STEP)).toBe(id);
  const others = [{ run: 'run-2' }, { path: 'other' }, { title: 'Roll back all?' }, { show: { rate: 1 } }];
  for (const other of others) expect.soft(await requestStepApproval(flow, { ...STEP, ...other })).not.toBe(id);
});

verifies('W3', 'lets only the approvers of a step decide, and needs its quorum', async () => {
  const bench = await approvalBench();
  bench.apiKeys = [
    { name: 'ops', roles: ['approver'] },
    { name: 'dev', roles: ['user'] },
  ];
  const { flow } = bench;
  const id = await requestStepApproval(flow, { ...STEP, approvers: ['role:approver', 'role:owner'], quorum: 2 });
  const dev = { id: 'key:dev', roles: ['user'], via: 'gateway' } as const;
  await expect(flow.decide(dev, id, { verdict: 'approve' })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  expect(await flow.decide(ops, id, { verdict: 'approve' })).toMatchObject({ status: 'pending' });
  expect(await flow.decide(boss, id, { verdict: 'approve' })).toMatchObject({ status: 'approved' });
});

verifies('W3', 'refuses an approval step that no identity can approve', async () => {
  const bench = await approvalBench();
  const request = (step: Partial<StepToApprove>) => requestStepApproval(bench.flow, { ...STEP, ...step });
  await expect(request({ approvers: ['key:gone'] })).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
  await expect(request({ quorum: 3 })).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
  bench.approvals = { unattended: true };
  await expect(request({})).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' });
});

verifies('W3', 'accepts only content that fits the form of a step, and keeps it with the decision', async () => {
  const { flow } = await approvalBench();
  const schema = { type: 'object', required: ['label'], properties: { label: { enum: ['nda', 'msa'] } } };
  const id = await requestStepApproval(flow, { ...STEP, schema });
  const stored = await flow.box.get(id);
  if (!stored) throw new Error('It was requested.');
  await expect(requireFormContent(stored, undefined)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await expect(requireFormContent(stored, { label: 'x' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await requireFormContent(stored, { label: 'nda' });
  const approved = await flow.decide(ops, id, { verdict: 'approve', content: { label: 'nda' } });
  expect(approved.decisions[0]).toMatchObject({ by: 'key:ops', content: { label: 'nda' } });
  const plain = await flow.box.get(await requestStepApproval(flow, { ...STEP, run: 'run-3' }));
  if (!plain) throw new Error('It was requested.');
  await expect(requireFormContent(plain, { a: 1 })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

verifies('W5', 'gives the calls of two steps approvals of their own, which name run and path', async () => {
  const bench = await approvalBench();
  const fence = { run: 'run-1', epoch: 1, path: 'a' };
  const first = approvalIdOf(await bench.send({ fence }));
  expect(approvalIdOf(await bench.send({ fence: { ...fence, epoch: 2 } }))).toBe(first);
  expect(approvalIdOf(await bench.send({ fence: { ...fence, path: 'b' } }))).not.toBe(first);
  expect(approvalIdOf(await bench.send())).not.toBe(first);
  expect((await bench.flow.box.get(first))?.subject.run).toEqual({ id: 'run-1', path: 'a' });
});
