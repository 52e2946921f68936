import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Approval } from '../../core/records/approval.ts';
import { approvalToDecide } from './approval-to-decide.ts';

const stages = [{ approvers: ['key:ops', 'role:owner'], need: 1 }];
const pending = { id: 'ap_1', status: 'pending', stages, decisions: [], requestedBy: 'key:ci' } as unknown as Approval;
const finding = (found: Partial<Approval>) => ({ get: async () => ({ ...pending, ...found }) });
const owner: Caller = { id: 'local:ada', roles: ['owner'], via: 'cli' };

verifies('G6', 'a user who may not decide learns it before the prompt, with the approvers', async () => {
  await expect(approvalToDecide(finding({}), owner, 'ap_1')).resolves.toMatchObject({ id: 'ap_1' });
  await expect(approvalToDecide(finding({ decidable: false }), owner, 'ap_1')).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
    message: 'local:ada may not decide about the approval ap_1.',
    fix: 'Ask key:ops or role:owner to decide.',
  });
});

verifies('G6', 'a key without the role of an approver is told so, instead of an unknown id', async () => {
  const unknown = { get: () => Promise.reject(new HeddleError('NAME_UNKNOWN', 'There is no approval ap_1.')) };
  const ci: Caller = { id: 'key:ci', roles: ['user'], via: 'cli' };
  await expect(approvalToDecide(unknown, ci, 'ap_1')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  await expect(approvalToDecide(unknown, owner, 'ap_1')).rejects.toMatchObject({ code: 'NAME_UNKNOWN' });
});
