import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { Call, Result } from '../../core/call.ts';
import { aCall, text } from '../../core/fixtures.ts';
import type { Approval } from '../../core/records/approval.ts';
import type { Heddle } from '../../heddle.ts';
import { openContinuations } from './continuations.ts';
import { waitingTasks } from './waiting-task.ts';

const ROUTE = { kind: 'gateway', ticket: 'ticket' } as const;
const NOW = Date.UTC(2026, 0, 1);
const PENDING: Approval = {
  id: 'ap_1',
  status: 'pending',
  subject: {
    ...{ kind: 'tool', name: 'demo.echo', servers: ['demo'], digest: 'd', riskLevel: 'high', inputDigest: 'i' },
    arguments: { path: 'changed' },
    changedByHooks: { path: 'original' },
    extraParams: { force: true },
    meta: { command: 'ls' },
  },
  requestedBy: 'ada',
  via: 'gateway',
  requestedAt: NOW,
  expiresAt: NOW + 300_000,
  reasons: ['routine'],
  rule: 'mode strict',
  stages: [
    { approvers: ['key:one'], need: 1 },
    { approvers: ['key:two'], need: 1 },
  ],
  notRequester: false,
  allowsStanding: true,
  decisions: [],
};
const decidedAt = (at: number): Pick<Approval, 'decisions'> => ({
  decisions: [{ by: 'key:one', roles: ['approver'], at, verdict: 'approve', stage: 0, via: 'cli' }],
});

/** A gateway that was restarted: it keeps no task, and its store has this approval. */
function restarted(approval: Approval | undefined, isCancelled = false) {
  const dispatched: Call[] = [];
  const heddle = {
    async dispatch(call: Call): Promise<Result> {
      dispatched.push(call);
      return text('done');
    },
    catalog: {},
    access: {},
    approvals: {
      ofCall: async () => approval && { approval, isCancelled },
    },
  } as unknown as Heddle;
  const { gatewayTasks } = openContinuations(heddle);
  const tasks = waitingTasks(heddle, gatewayTasks, () => NOW + 10_000);
  return {
    describe: () => tasks.describe(ROUTE, aCall({ meta: { command: 'of the poll' } })),
    gatewayTasks,
    dispatched,
  };
}

describe('a task that waits for an approval, after a restart', () => {
  verifies('G7', 'is still working, and names the approvers of the stage', async () => {
    const { describe, dispatched } = restarted({ ...PENDING, ...decidedAt(NOW) });
    expect(await describe()).toMatchObject({
      status: 'working',
      statusMessage: 'Waiting for key:two to decide on the approval ap_1.',
      createdAt: '2026-01-01T00:00:00.000Z',
    });
    expect(dispatched).toEqual([]);
  });

  verifies('G7', 'runs the approved call once, with the arguments that hooks got', async () => {
    const { describe, dispatched, gatewayTasks } = restarted({ ...PENDING, status: 'approved', ...decidedAt(NOW) });
    await Promise.all([describe(), describe(), describe()]);
    await until('it is completed', () => gatewayTasks.find('ticket', aCall())?.isEnded === true);
    expect(gatewayTasks.find('ticket', aCall())?.describe()).toMatchObject({ status: 'completed' });
    expect(dispatched).toMatchObject([
      {
        input: { path: 'original' },
        extraParams: { force: true },
        meta: { command: 'ls' },
        acceptsTask: true,
        continuation: { kind: 'approval', id: 'ap_1' },
      },
    ]);
  });

  verifies('G7', 'leaves a call that was approved just now to the gateway that keeps its task', async () => {
    const { describe, dispatched } = restarted({ ...PENDING, status: 'approved', ...decidedAt(NOW + 9000) });
    expect(await describe()).toMatchObject({ status: 'working' });
    expect(dispatched).toEqual([]);
  });

  verifies('G7', 'is completed with the error of an approval that was not given', async () => {
    const rejected = await restarted({ ...PENDING, status: 'rejected' }).describe();
    expect(rejected).toMatchObject({ status: 'completed', result: { isError: true } });
    expect(JSON.stringify(rejected)).toContain('[APPROVAL_REJECTED]');
    expect(JSON.stringify(await restarted({ ...PENDING, status: 'timeout' }).describe())).toContain('TIMED_OUT');
  });

  verifies(
    'G7',
    'is gone if its approval was used or is unknown, and cancelled if its client cancelled it',
    async () => {
      expect(await restarted({ ...PENDING, status: 'used' }).describe()).toBeUndefined();
      expect(await restarted(undefined).describe()).toBeUndefined();
      for (const status of ['pending', 'approved', 'void', 'used'] as const) {
        const { describe, dispatched } = restarted({ ...PENDING, status }, true);
        expect(await describe()).toMatchObject({ status: 'cancelled' });
        expect(dispatched).toEqual([]);
      }
      const tooLate = restarted({ ...PENDING, status: 'used', callId: aCall().id }, true);
      expect(await tooLate.describe()).toBeUndefined();
    },
  );
});
