import { expect } from 'vitest';
import { workflowDesk } from '../../../test/cli/workflow-desk.ts';
import { verifies } from '../../../test/requirements.ts';

const GOOD = `heddle: 1
steps:
  - { id: write, tool: notes.write, input: { text: a } }
`;
const BAD = `heddle: 1
steps:
  - { id: write, tool: notes.write, input: { text: $serch.result } }
  - { id: more, tool: notes.wrte, input: { text: b } }
`;
const NO_YAML = 'heddle: 1\nsteps:\n  - {id: a, tool: notes.write, input: {a: ${{ x }} }}\n';

verifies('W6', '`lint` names file, line, column, code and fix, and exits with 1 on errors', async () => {
  const { heddle, calls } = await workflowDesk({ good: GOOD, bad: BAD, broken: NO_YAML });
  const good = await heddle(['lint', 'good']);
  expect(good).toEqual({ code: 0, stderr: '', stdout: 'good: no problem; a run makes 1 call\n' });
  const bad = await heddle(['lint', '.heddle/workflows/bad.yaml']);
  expect(bad.code).toBe(1);
  expect(bad.stdout).toMatch(/^\.heddle\/workflows\/bad\.yaml: \d errors/m);
  expect(bad.stdout).toMatch(/^\.heddle\/workflows\/bad\.yaml:3:\d+: error \w+: write: .*serch/m);
  expect(bad.stdout).toMatch(/^\.heddle\/workflows\/bad\.yaml:4:\d+: error \w+: more: .*notes\.wrte/m);
  expect(bad.stdout.match(/^ {2}fix: /gm)?.length).toBeGreaterThan(1);
  const all = await heddle(['lint', '--json']);
  const names = (JSON.parse(all.stdout) as { name: string }[]).map(({ name }) => name);
  expect([all.code, names.sort()]).toEqual([1, ['bad', 'broken', 'good']]);
  const broken = await heddle(['lint', '.heddle/workflows/broken.yaml']);
  expect([broken.code, broken.stdout]).toEqual([1, expect.stringMatching(/broken\.yaml:3:\d+: error /)]);
  expect(broken.stdout).not.toContain('a run makes');
  expect((await heddle(['doctor'])).stdout).toMatch(/✗ .*broken/);
  expect(calls()).toEqual([]);
});

verifies('W6', '`lint` checks the files of an untrusted project, and `run` names `heddle trust`', async () => {
  const { heddle, calls } = await workflowDesk({ bad: BAD });
  await heddle(['trust', '--forget']);
  const linted = await heddle(['lint']);
  expect([linted.code, linted.stdout]).toEqual([1, expect.stringMatching(/bad\.yaml:3:\d+: error STEP_UNKNOWN/)]);
  const run = await heddle(['run', 'bad']);
  expect([run.code, run.stderr]).toEqual([
    3,
    expect.stringMatching(/WORKFLOW_INVALID: .*untrusted[\s\S]*heddle trust/),
  ]);
  expect(calls()).toEqual([]);
});
