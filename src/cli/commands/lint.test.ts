import { writeFileSync } from 'node:fs';
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
  const { heddle, calls, path } = await workflowDesk({ bad: BAD });
  writeFileSync(path('project/.heddle/workflows/aaa.ts'), 'throw new Error("It was run.");\n');
  await heddle(['trust', '--forget']);
  const linted = await heddle(['lint']);
  expect([linted.code, linted.stdout]).toEqual([1, expect.stringMatching(/bad\.yaml:3:\d+: error STEP_UNKNOWN/)]);
  expect(linted.stdout).toMatch(/aaa\.ts:1:1: error WORKFLOW_UNTRUSTED: .*\n {2}fix: .*heddle trust/);
  expect(linted.stderr).not.toContain('aaa.ts');
  for (const words of [
    ['run', 'bad'],
    ['run', 'bad', '--export', 'mermaid'],
    ['run', '.heddle/workflows/aaa.ts'],
    ['lint', 'aaa'],
  ]) {
    const { code, stderr } = await heddle(words);
    expect([code, stderr], words.join(' ')).toEqual([
      3,
      expect.stringMatching(/WORKFLOW_INVALID: .*untrusted[\s\S]*heddle trust/),
    ]);
    const name = words[1] === 'bad' ? 'bad.yaml' : 'aaa.ts';
    expect(stderr.split(name), `${words.join(' ')} names the file once`).toHaveLength(2);
  }
  expect(calls()).toEqual([]);
});
