import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Approval } from '../records/approval.ts';
import { approvalRows, durationText } from './describe-approval.ts';

const NOW = Date.UTC(2026, 10, 17, 9, 0, 0);
const APPROVAL: Approval = {
  id: 'ap_0123456789abcdef',
  status: 'pending',
  subject: {
    kind: 'tool',
    name: 'mcp__db__drop_table',
    description: 'Drops a table.',
    servers: ['db'],
    files: { db: '/etc/heddle.json:4' },
    digest: 'd',
    riskLevel: 'high',
    requires: ['network'],
    arguments: { table: 'users' },
    inputDigest: 'i',
  },
  requestedBy: 'key:ci',
  via: 'gateway',
  profile: 'support',
  requestedAt: NOW - 28_000,
  expiresAt: NOW + 272_000,
  reasons: ['It is marked as destructive.'],
  rule: 'mode guarded',
  approvalRule: 'databases',
  stages: [
    { approvers: ['role:approver'], need: 2 },
    { approvers: ['key:ops'], need: 1 },
  ],
  notRequester: true,
  allowsStanding: true,
  decisions: [
    { by: 'key:ann', roles: ['approver'], at: NOW - 1000, verdict: 'approve', stage: 0, note: 'Fine.', via: 'console' },
  ],
  earlierCall: 'c_1',
};

const shown = (approval: Approval) => approvalRows(approval, NOW).map(({ title, text }) => `${title}: ${text}`);

verifies('G6', 'shows `_meta`, and apart from it the ids that may differ', () => {
  const meta = { command: 'ls', 'claudecode/toolUseId': 'toolu_1', traceparent: 7 };
  expect(shown({ ...APPROVAL, subject: { ...APPROVAL.subject, meta } }).slice(-2)).toEqual([
    '_meta: {\n  "command": "ls",\n  "traceparent": 7\n}',
    '_meta, may differ in the approved call: {\n  "claudecode/toolUseId": "toolu_1"\n}',
  ]);
});

verifies('G6', 'shows everything that a decision depends on', () => {
  expect(shown(APPROVAL)).toEqual([
    'approval: ap_0123456789abcdef',
    'status: pending, 4 min 32 s left',
    'tool: mcp__db__drop_table',
    'about: Drops a table.',
    'server: db (/etc/heddle.json:4)',
    'risk: high',
    'requires: network',
    'requested: by key:ci (gateway, profile support) at 2026-11-17T08:59:32.000Z',
    'reason: It is marked as destructive.',
    'rule: mode guarded',
    'approvers: by the approval rule databases',
    'stage 1: 2 of role:approver, not the requester; 1 given',
    'stage 2: 1 of key:ops, not the requester',
    'decision: approved by key:ann (console) at 2026-11-17T08:59:59.000Z: Fine.',
    'earlier: The call c_1 was the same, and may have run.',
    'arguments: {\n  "table": "users"\n}',
  ]);
});

verifies('G6', 'escapes text of servers and callers, and keeps arguments exact', () => {
  const sent = { text: 'a\nreason: none\u202e\u001b[2J' };
  const hostile: Approval = {
    ...APPROVAL,
    subject: { ...APPROVAL.subject, name: 'x\nstatus: approved', description: '\u001b[2Jgone\u200b', arguments: sent },
    requestedBy: 'key:ci\nrisk: low',
  };
  const rows = approvalRows(hostile, NOW);
  for (const { title, text } of rows) {
    expect(text, title).toMatch(/^[\x20-\x7e\n]*$/);
    if (title !== 'arguments') expect(text, title).not.toContain('\n');
  }
  expect(JSON.parse(rows.at(-1)?.text ?? '')).toEqual(sent);
});

verifies('G6', 'tells the sanitised copy, the arguments before hooks and unknown params apart', () => {
  const subject = {
    ...APPROVAL.subject,
    isSanitised: true as const,
    changedByHooks: { table: 'all' },
    extraParams: { trace: 1 },
    inputResponses: { q1: { action: 'accept' } },
    preview: ['12 rows'],
  };
  expect(approvalRows({ ...APPROVAL, subject }, NOW).slice(-5)).toEqual([
    { title: 'preview', text: '12 rows' },
    { title: 'before hooks', text: '{\n  "table": "all"\n}' },
    { title: 'arguments, without sensitive values', text: '{\n  "table": "users"\n}' },
    { title: 'other params', text: '{\n  "trace": 1\n}' },
    { title: 'input responses', text: '{\n  "q1": {\n    "action": "accept"\n  }\n}' },
  ]);
});

it.each([
  [{ status: 'approved', expiresAt: NOW + 900_000 }, 'approved, to be used within 15 min 0 s'],
  [
    { status: 'used', callId: 'c_2', settledAt: NOW },
    'used by the call c_2 at 2026-11-17T09:00:00.000Z; its outcome is not known',
  ],
  [{ status: 'void', reason: 'The tool has changed.' }, 'void: The tool has changed.'],
  [{ status: 'timeout' }, 'timeout: it was not decided in time'],
  [{ status: 'expired' }, 'expired: it was approved, and not used in time'],
  [{ status: 'rejected', settledAt: NOW }, 'rejected at 2026-11-17T09:00:00.000Z'],
  [{ status: 'pending', expiresAt: NOW }, 'pending, and its time is over'],
] as const)('shows the status %j as %j', (changes, text) => {
  expect(approvalRows({ ...APPROVAL, ...changes }, NOW)[1]).toEqual({ title: 'status', text });
});

it.each([
  [0, '0 s'],
  [-5, '0 s'],
  [59_400, '59 s'],
  [600_000, '10 min 0 s'],
  [90_000_000, '1 d 1 h'],
])('shows %i ms as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});
