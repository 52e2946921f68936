import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { UpstreamError } from '../../core/errors.ts';
import { aCall } from '../../core/fixtures.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { settleAtTerminal } from './settle-at-terminal.ts';

const pending = { id: 'ap_1', approvers: ['role:approver'], expiresAt: 1, reason: 'It is destructive.' };
const lost = () => Promise.reject(new UpstreamError('UPSTREAM_FAILED', 'The gateway is gone.', { delivered: 'no' }));
const approvals = { get: lost, settled: lost } as unknown as CommandHeddle['approvals'];

verifies('G6', 'reports a call as pending if the gateway ends while it only waits for an approval', async () => {
  const waiting = { approvals, call: aCall(), waitMs: 60_000, mayAsk: false };
  await expect(settleAtTerminal(pending, waiting)).rejects.toMatchObject({
    code: 'APPROVAL_PENDING',
    details: { approval: 'ap_1' },
  });
});

verifies('G6', 'says that nothing was sent if the user ends the wait for an approval', async () => {
  const call = aCall({ signal: AbortSignal.abort() });
  await expect(settleAtTerminal(pending, { approvals, call, waitMs: 60_000, mayAsk: false })).rejects.toMatchObject({
    code: 'CALL_CANCELLED',
    message: expect.stringContaining('was not sent'),
    fix: 'Repeat the same call to go on with the approval.',
  });
});
