import { expect, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Approval } from '../../core/records/approval.ts';
import { type ApprovalAtTerminal, decideAtTerminal } from './decide-at-terminal.ts';
import { decidedText } from './print-approval.ts';

/** Returns a site whose approval has this status, and which waits at most 5 ms. */
function siteOf(approval: Partial<Approval>, more: Partial<ApprovalAtTerminal> = {}): ApprovalAtTerminal {
  const approvals = { get: async () => approval as Approval, settled: async () => approval as Approval };
  return {
    approvals: approvals as unknown as ApprovalAtTerminal['approvals'],
    by: { id: 'local:ann', roles: ['owner'], via: 'cli' },
    mayAsk: true,
    aside: vi.fn((prompt) => prompt()),
    ...more,
  };
}

verifies('W6', 'an approval that needs no prompt or permits none leaves the tree of the run alone', async () => {
  const { signal } = new AbortController();
  for (const [site, isSettled] of [
    [siteOf({ status: 'approved' }), true],
    [siteOf({ status: 'pending' }, { mayAsk: false }), false],
    [siteOf({ status: 'pending', decidable: false }), false],
  ] as const) {
    expect(await decideAtTerminal('ap_1', site, signal)).toBe(isSettled);
    expect(site.aside).not.toHaveBeenCalled();
  }
});

verifies('G6', 'the rejection of a step names the run, and does not say that the workflow does not run', () => {
  const approval = {
    id: 'ap_1',
    status: 'rejected',
    subject: { name: 'mcp__workflow__ask', run: { id: 'run_1', path: 'ok' } },
  };
  const rejected = decidedText(approval as unknown as Approval, { verdict: 'reject', note: 'No.' });
  expect(rejected).toBe('Rejected ap_1 for the run run_1.');
});
