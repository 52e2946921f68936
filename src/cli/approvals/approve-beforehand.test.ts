import { expect, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Approval } from '../../core/records/approval.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { approveBeforehand } from './approve-beforehand.ts';

const by: Caller = { id: 'local:ann', roles: ['owner'], via: 'cli' };
const stages = [{ approvers: ['role:owner'], need: 1 }];
const approvalOf = (subject: object): Approval =>
  ({ id: 'ap_1', status: 'pending', stages, subject: { kind: 'tool', name: 'db_execute', ...subject } }) as never;

const approvalsWith = (decide: CommandHeddle['approvals']['decide']) => ({ decide }) as CommandHeddle['approvals'];

verifies('G2', '--yes approves no tool that always asks, and no sampling request', async () => {
  const decide = vi.fn();
  const found = [{ alwaysAsks: true }, { kind: 'sampling' }].map((one) =>
    approveBeforehand(approvalsWith(decide), by, approvalOf(one)),
  );
  expect(await Promise.all(found)).toEqual([
    'each call of db_execute is approved by itself',
    'a request to the model of a client is read first',
  ]);
  expect(decide).not.toHaveBeenCalled();
});

verifies('G2', '--yes accepts that another approver was faster', async () => {
  const settled = approvalsWith(() => Promise.reject(new HeddleError('APPROVAL_SETTLED', 'It is over.')));
  expect(await approveBeforehand(settled, by, approvalOf({}))).toBeUndefined();
  const failing = approvalsWith(() => Promise.reject(new HeddleError('STORE_UNAVAILABLE', 'No disk.')));
  await expect(approveBeforehand(failing, by, approvalOf({}))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
});
