import { describe, expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { type WorkflowProject, workflowProject } from './workflow-project.ts';

const NOTE = 'heddle: 1\nsteps:\n  - { id: write, tool: notes.write, input: { text: hi } }\n';
const STEP = `heddle: 1
steps:
  - { id: ok, approval: { title: Write the note? } }
  - { id: write, if: $ok.result.approved, tool: notes.write, input: { text: approved } }
`;
const OUTER = 'heddle: 1\nsteps:\n  - { id: sub, workflow: note, input: {} }\n';
const OTHERS = STEP.replace('note? }', 'note?, approvers: [key:ops] }');
const FORM = STEP.replace('note? }', 'note?, schema: { type: object, properties: { day: { type: string } } } }');
const workflows = { note: NOTE, step: STEP, outer: OUTER, others: OTHERS, form: FORM };
const asking = (approvals: object = {}) =>
  workflowProject({ workflows, config: { permissions: { ask: ['mcp__notes'], allow: ['mcp__workflow'] }, approvals } });

async function keyOf({ heddle }: WorkflowProject, name: string, ...roles: readonly string[]) {
  const { stdout } = await heddle(['key', 'create', name, ...roles.flatMap((role) => ['--role', role])]);
  return { env: { HEDDLE_KEY: stdout.trim() } };
}

describe('heddle run --yes', () => {
  verifies(
    'G2',
    'approves the steps that the user may approve, also of runs below it, and the audit log says so',
    async () => {
      const one = asking();
      for (const name of ['note', 'step', 'outer']) {
        expect([name, await one.heddle(['run', name, '--yes'])]).toEqual([name, expect.objectContaining({ code: 0 })]);
      }
      expect(one.calls()).toEqual(['{"text":"hi"}', '{"text":"approved"}', '{"text":"hi"}']);
      const { stdout } = await one.heddle(['approvals', 'list', '--status', 'all', '--json']);
      const found: { requestedBy: string; decisions: { by: string; note?: string }[] }[] = JSON.parse(stdout);
      expect(found).toHaveLength(4);
      for (const { requestedBy, decisions } of found) {
        expect(decisions).toMatchObject([{ by: requestedBy, note: 'Approved beforehand with --yes.' }]);
      }
    },
  );

  verifies('G2', 'works through a running gateway, and as a key that may approve', async () => {
    const one = asking();
    await one.up();
    expect(await one.heddle(['run', 'outer', '--yes'])).toMatchObject({ code: 0 });
    const desk = await keyOf(one, 'desk', 'user', 'approver');
    expect(await one.heddle(['run', 'note', '--yes'], desk)).toMatchObject({ code: 0 });
    expect(one.calls()).toHaveLength(2);
    const user = await one.heddle(['run', 'note', '--yes'], await keyOf(one, 'ci', 'user'));
    expect([user.code, user.stderr]).toEqual([
      6,
      expect.stringMatching(/--yes does not approve ap_\w+: it needs role:owner or role:approver\./),
    ]);
    expect(one.calls()).toHaveLength(2);
  });

  verifies('G2', 'approves no step that names another approver, has a form, or needs two decisions', async () => {
    const stages = [{ approvers: ['role:owner', 'role:approver'], need: 2 }];
    const one = asking({ rules: [{ name: 'two', tools: ['mcp__notes__*'], stages }] });
    await keyOf(one, 'ops', 'approver');
    for (const [name, reason] of [
      ['others', 'it needs key:ops.'],
      ['form', 'it has a form to fill in.'],
      ['note', 'it needs 2 decisions.'],
    ] as const) {
      const waits = await one.heddle(['run', name, '--yes']);
      expect([name, waits.code, waits.stderr]).toEqual([name, 6, expect.stringContaining(reason)]);
      expect(waits.stderr).toMatch(/APPROVAL_PENDING/);
    }
    expect(one.calls()).toEqual([]);
  });

  verifies('G6', 'approves nothing under approvals.unattended', async () => {
    const one = asking({ unattended: true });
    for (const name of ['note', 'step']) {
      const refused = await one.heddle(['run', name, '--yes']);
      expect([refused.code, refused.stderr]).toEqual([
        expect.any(Number),
        expect.stringContaining('approvals.unattended'),
      ]);
      expect(refused.code).not.toBe(0);
    }
    expect(one.calls()).toEqual([]);
  });
});
