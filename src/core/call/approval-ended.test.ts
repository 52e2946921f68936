import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Approval } from '../records/approval.ts';
import { approvalEnded } from './approval-ended.ts';

const PENDING: Approval = {
  id: 'ap_0123456789abcdef',
  status: 'pending',
  subject: {
    kind: 'tool',
    name: 'notes.delete',
    servers: ['notes'],
    digest: 'd',
    riskLevel: 'high',
    arguments: {},
    inputDigest: 'i',
  },
  requestedBy: 'key:agent',
  via: 'gateway',
  requestedAt: Date.UTC(2026, 0, 1),
  expiresAt: Date.UTC(2026, 0, 1, 0, 5),
  reasons: ['routine'],
  rule: 'mode strict',
  stages: [{ approvers: ['role:approver'], need: 1 }],
  notRequester: false,
  allowsStanding: true,
  decisions: [],
};

describe('an approval that was not given', () => {
  verifies('G6', 'refuses its call with the identity and the escaped note of a rejection', () => {
    const decision = {
      by: 'key:ops',
      roles: ['approver'],
      at: 1,
      verdict: 'reject',
      stage: 0,
      note: 'not\u202e\ntoday',
      via: 'cli',
    } as const;
    const error = approvalEnded({ ...PENDING, status: 'rejected', decisions: [decision] });
    expect(error).toMatchObject({
      code: 'APPROVAL_REJECTED',
      message: String.raw`key:ops rejected the call of notes.delete (approval ap_0123456789abcdef). Note: not\u{202e}\ntoday`,
      details: { approval: 'ap_0123456789abcdef' },
    });
  });

  verifies('G6', 'tells a timeout from an approval that expired, and from one that no longer holds', () => {
    expect(approvalEnded({ ...PENDING, status: 'timeout' })).toMatchObject({ code: 'APPROVAL_TIMED_OUT' });
    expect(approvalEnded({ ...PENDING, status: 'expired' })?.message).toContain('not called in time');
    const changed = approvalEnded({ ...PENDING, status: 'void', reason: 'The definition changed.' });
    expect(changed?.message).toContain('no longer holds. The definition changed.');
  });

  verifies('G6', 'is no error while it is open or used', () => {
    const open = (['pending', 'approved', 'used'] as const).map((status) => approvalEnded({ ...PENDING, status }));
    expect(open).toEqual([undefined, undefined, undefined]);
  });
});
