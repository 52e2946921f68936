import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Role } from '../../core/call.ts';
import type { ApprovalStage } from '../../core/records/approval.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { anApproval, START } from './fixtures.ts';
import { type ApprovalPlan, nextApproval, USE_WITHIN_MS } from './next-approval.ts';
import { stageProgress } from './stage-progress.ts';

const ops = { id: 'key:ops', roles: ['approver'] as readonly Role[] };
const ben = { id: 'key:ben', roles: ['approver'] as readonly Role[] };
const ada = { id: 'ada', roles: ['user'] as readonly Role[] };
const OWNERS = [
  { id: 'owner', roles: ['owner'] },
  { id: 'local:ada', roles: ['owner'] },
  { id: 'library', roles: ['owner'] },
] as const;

const decide = (approval: StoredApproval, by: { id: string; roles: readonly Role[] }, more: object = {}) =>
  nextApproval(approval, { kind: 'decide', by, verdict: 'approve', via: 'cli', ...more }, { now: START + 1 });

const plan = (overrides: Partial<ApprovalPlan>): ApprovalPlan => ({
  stages: [{ approvers: ['role:approver'], need: 1 }],
  notRequester: false,
  allowsStanding: true,
  client: true,
  timeoutMs: 1000,
  approvalRule: 'r',
  ...overrides,
});

describe('the next state of an approval', () => {
  verifies('G6', 'is approved once each stage has its decisions, in order', () => {
    const stages = [
      { approvers: ['key:ops', 'key:ben'], need: 2 },
      { approvers: ['role:owner'], need: 1 },
    ];
    const first = decide(anApproval({ stages }), ops).approval;
    expect(first).toMatchObject({ status: 'pending', decisions: [{ by: 'key:ops', stage: 0 }] });
    expect(decide(first, ops)).toMatchObject({ refusal: 'counted' });
    expect(decide(first, OWNERS[0])).toMatchObject({ refusal: 'not-approver' });
    const second = decide(first, ben).approval;
    expect(second.status).toBe('pending');
    const third = decide(second, OWNERS[0]).approval;
    expect(third).toMatchObject({ status: 'approved', expiresAt: START + 1 + USE_WITHIN_MS });
  });

  verifies('G6', 'counts owner token, local user and library as one identity, in every stage', () => {
    const stages = [
      { approvers: ['role:owner'], need: 1 },
      { approvers: ['owner', 'local:ada', 'library'], need: 1 },
    ];
    for (const one of OWNERS) {
      for (const other of OWNERS) {
        const first = decide(anApproval({ stages }), one).approval;
        expect(decide(first, other)).toMatchObject({ refusal: 'counted', approval: { status: 'pending' } });
      }
    }
  });

  verifies('G6', 'lets no identity of the requester approve if the rule says so, but reject', () => {
    const approval = anApproval({ principal: 'owner', notRequester: true, approvalRule: 'r' });
    for (const by of OWNERS) {
      expect(decide(approval, by)).toMatchObject({ refusal: 'not-approver' });
      expect(decide(approval, by, { verdict: 'reject', note: 'no' }).approval.status).toBe('rejected');
    }
  });

  verifies('G6', 'lets the requester approve by the form only without a rule', () => {
    expect(decide(anApproval(), ada, { via: 'form' }).approval.status).toBe('approved');
    expect(decide(anApproval(), ada)).toMatchObject({ refusal: 'not-approver' });
    expect(decide(anApproval({ approvalRule: 'r' }), ada, { via: 'form' })).toMatchObject({ refusal: 'not-approver' });
  });

  verifies('G6', 'is timeout or expired at its time, and a clock set back revives nothing', () => {
    const late = { now: START + 300_000 };
    const timeout = nextApproval(anApproval(), { kind: 'time' }, late).approval;
    expect(timeout.status).toBe('timeout');
    expect(decide(timeout, ops)).toMatchObject({ refusal: 'settled', approval: { status: 'timeout' } });
    const event = { kind: 'decide', by: ops, verdict: 'approve', via: 'cli' } as const;
    expect(nextApproval(anApproval(), event, late)).toMatchObject({
      refusal: 'settled',
      approval: { status: 'timeout' },
    });
    const approved = decide(anApproval(), ops).approval;
    const expired = nextApproval(approved, { kind: 'use', callId: 'c' }, { now: START + 1 + USE_WITHIN_MS });
    expect(expired).toMatchObject({ refusal: 'settled', approval: { status: 'expired' } });
  });

  verifies('G7', 'is used once', () => {
    const approved = decide(anApproval(), ops).approval;
    const use = (approval: StoredApproval, callId: string) =>
      nextApproval(approval, { kind: 'use', callId }, { now: START + 2 });
    const used = use(approved, 'c1').approval;
    expect(used).toMatchObject({ status: 'used', callId: 'c1' });
    expect(use(used, 'c2')).toEqual({ approval: used, refusal: 'settled' });
    expect(use(anApproval(), 'c1')).toMatchObject({ refusal: 'not-approved' });
  });

  verifies('G6', 'keeps exact arguments while it is open, then the sanitised copy', () => {
    expect(decide(anApproval(), ops).approval.subject.arguments).toEqual({ path: 'a', password: 'x' });
    const over = decide(anApproval(), ops, { verdict: 'reject', note: 'no' }).approval;
    expect(over.subject).toMatchObject({ isSanitised: true, arguments: { path: 'a', password: '[REDACTED]' } });
  });

  verifies('G6', 'is not renewed by rules that change to and fro', () => {
    const strict = plan({ stages: [{ approvers: ['role:approver'], need: 2 }], timeoutMs: 600_000 });
    let approval = decide(anApproval(), ops).approval;
    for (const minute of [4, 8, 12, 16]) {
      for (const next of [strict, plan({})]) {
        approval = nextApproval(approval, { kind: 'replan', plan: next }, { now: START + minute * 60_000 }).approval;
      }
    }
    expect(approval).toMatchObject({ status: 'timeout' });
    const late = { ...approval, status: 'pending' as const, expiresAt: START + USE_WITHIN_MS * 2 };
    const again = nextApproval(late, { kind: 'replan', plan: plan({}) }, { now: START + 1 + USE_WITHIN_MS });
    expect(again.approval.status).toBe('expired');
  });

  verifies('G6', 'waits again if a stricter rule or a revoked key leaves a decision missing', () => {
    const approved = decide(anApproval(), ops).approval;
    const context = { now: START + 5 };
    const stricter = plan({ stages: [{ approvers: ['role:approver'], need: 2 }] });
    const again = nextApproval(approved, { kind: 'replan', plan: stricter }, context).approval;
    expect(again).toMatchObject({ status: 'pending', expiresAt: START + 1001, decisions: [{ by: 'key:ops' }] });
    expect(decide(again, ben).approval.status).toBe('approved');
    const revoked = { ...context, countsStill: ({ by }: { by: string }) => by !== 'key:ops' };
    expect(nextApproval(approved, { kind: 'replan', plan: plan({}) }, revoked).approval.status).toBe('pending');
    const same = { stages: approved.stages, notRequester: false, allowsStanding: true, client: true, timeoutMs: 1 };
    expect(nextApproval(approved, { kind: 'replan', plan: same }, context).approval).toBe(approved);
  });
});

/** A deterministic generator of numbers below `n`. */
function numbers(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * n);
  };
}

const PEOPLE: readonly { id: string; roles: readonly Role[] }[] = [
  ops,
  ben,
  { id: 'key:cy', roles: ['approver', 'operator'] },
  ada,
  ...OWNERS,
];
const APPROVERS = ['role:approver', 'role:operator', 'role:owner', 'key:ops', 'key:ben', 'owner', 'local:zed'];

const principal = ({ id, roles }: { id: string; roles: readonly Role[] }) =>
  roles.includes('owner') && /^(owner|library|local:.*)$/.test(id) ? 'owner' : id;

/** The reference: replays the decisions one by one against the stage that waits. */
function replay(
  stages: readonly ApprovalStage[],
  notRequester: boolean,
  accepted: readonly number[],
  requester: string,
) {
  let stage = 0;
  let count = 0;
  const seen = new Set<string>();
  const outcomes = accepted.map((index) => {
    const person = PEOPLE[index] ?? ops;
    const current = stages[stage];
    if (!current) return 'settled';
    const who = principal(person);
    const isNamed = current.approvers.some((pattern) =>
      pattern.startsWith('role:')
        ? person.roles.includes(pattern.slice(5) as Role)
        : pattern === person.id || (/^(owner|library|local:.*)$/.test(pattern) && who === 'owner'),
    );
    if (!isNamed || (notRequester && who === requester)) return 'not-approver';
    if (seen.has(who)) return 'counted';
    seen.add(who);
    count++;
    if (count === current.need) [stage, count] = [stage + 1, 0];
    return undefined;
  });
  return { outcomes, stage };
}

it('agrees with a replay of random decisions on random stages', () => {
  for (let seed = 1; seed <= 2000; seed++) {
    const pick = numbers(seed);
    const stages = Array.from({ length: 1 + pick(3) }, () => ({
      approvers: Array.from({ length: 1 + pick(3) }, () => APPROVERS[pick(APPROVERS.length)] ?? 'owner'),
      need: 1 + pick(3),
    }));
    const requester = ['ada', 'owner', 'key:ops'][pick(3)] ?? 'ada';
    const notRequester = pick(2) === 0;
    const order = Array.from({ length: 8 }, () => pick(PEOPLE.length));
    let approval = anApproval({ stages, notRequester, principal: requester, approvalRule: 'r' });
    const refusals = order.map((index) => {
      const next = decide(approval, PEOPLE[index] ?? ops);
      approval = next.approval;
      return next.refusal;
    });
    const expected = replay(stages, notRequester, order, requester);
    expect([seed, refusals]).toEqual([seed, expected.outcomes]);
    expect(stageProgress(approval).stage).toBe(expected.stage);
    expect(approval.status).toBe(expected.stage === stages.length ? 'approved' : 'pending');
  }
});
