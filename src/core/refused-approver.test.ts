import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Caller } from './call.ts';
import type { Approval, ApprovalDecision } from './records/approval.ts';
import { refusedApprover } from './refused-approver.ts';

const decision = (by: string, roles: readonly string[], stage = 0) =>
  ({ by, roles, stage, verdict: 'approve', at: 1, via: 'cli' }) as unknown as ApprovalDecision;
const approvalWith = (more: Partial<Approval>) =>
  ({
    ...{ id: 'ap_1', status: 'pending', requestedBy: 'key:ci', notRequester: false, decisions: [] },
    stages: [
      { approvers: ['role:approver'], need: 2 },
      { approvers: ['key:boss'], need: 1 },
    ],
    ...more,
  }) as unknown as Approval;
const ops: Pick<Caller, 'id' | 'roles'> = { id: 'key:ops', roles: ['approver'] };

verifies('L5', 'says that an approver has already approved, and asks for another one', () => {
  const approval = approvalWith({ decisions: [decision('key:ops', ['approver'])] });
  expect(refusedApprover(approval, ops)).toMatchObject({
    code: 'PERMISSION_DENIED',
    message: 'key:ops has already approved ap_1, and each identity counts once.',
    fix: 'Ask another approver to decide: role:approver.',
  });
});

verifies('L5', 'knows the owner by any of its names', () => {
  const decisions = [decision('owner', ['owner'])];
  const ada: typeof ops = { id: 'local:ada', roles: ['owner'] };
  expect(refusedApprover(approvalWith({ decisions }), ada).message).toContain('has already approved');
  const own = approvalWith({ notRequester: true, requestedBy: 'library' });
  expect(refusedApprover(own, ada)).toMatchObject({
    message: 'local:ada may not approve ap_1, because it made the call itself.',
    fix: 'Ask another approver to decide: role:approver.',
  });
  expect(refusedApprover({ ...own, requestedBy: 'key:ci' }, ada).message).toContain('may not decide');
});

verifies('L5', 'names the approvers of the stage that lacks decisions', () => {
  const decisions = [decision('key:a', ['approver']), decision('key:b', ['approver'])];
  expect(refusedApprover(approvalWith({ decisions }), ops).fix).toBe('Ask key:boss to decide.');
});
