import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { workflowDesk } from '../../../test/cli/workflow-desk.ts';
import { verifies } from '../../../test/requirements.ts';

const TWO_NOTES = `heddle: 1
description: Writes two notes.
input: { type: object, required: [topic], properties: { topic: { type: string }, n: { type: integer }, word: { type: string, default: again } } }
steps:
  - { id: first, tool: notes.write, input: { text: $input.topic } }
  - { id: second, tool: notes.write, input: { text: "\${{ $input.word + ': ' + $input.topic }}" } }
output: { topic: $input.topic, first: $first.result.text }
`;
const FAILS = `heddle: 1
steps:
  - { id: good, tool: notes.write, input: { text: a } }
  - { id: bad, tool: notes.write, input: { text: $good.result.missing } }
`;
const TYPO = `heddle: 1
steps:
  - { id: first, tool: notes.write, input: { text: a } }
  - { id: second, tool: notes.write, input: { text: $frist.result.text } }
  - { id: third, tool: notes.wirte, input: { text: b } }
`;
const EXITS = `heddle: 1
input: { type: object, properties: { word: { type: string, default: exit } } }
steps:
  - { id: write, tool: notes.write, input: { text: $input.word } }
output: $write.result.text
`;
const ASKS = `heddle: 1
steps:
  - { id: ok, approval: { title: Write the note? } }
  - { id: write, if: $ok.result.approved, tool: notes.write, input: { text: approved } }
output: { approved: $ok.result.approved }
`;

describe('heddle run', () => {
  verifies('W4', 'runs a workflow by its name: the output is on stdout, each step is a line on stderr', async () => {
    const { heddle, calls } = await workflowDesk({ 'two-notes': TWO_NOTES });
    const { code, stdout, stderr } = await heddle(['run', 'two-notes', 'topic=tea']);
    expect([code, JSON.parse(stdout)]).toEqual([0, { topic: 'tea', first: 'written' }]);
    expect(stderr).toMatch(/^✓ first {2}\d.*\n✓ second {2}\d.*\n$/);
    expect(calls()).toEqual(['{"text":"tea"}', '{"text":"again: tea"}']);
    const listed = await heddle(['list', 'workflows']);
    expect(listed.stdout).toMatch(/^two-notes +2 .*\.heddle\/workflows\/two-notes\.yaml +Writes two notes\.$/m);
  });

  verifies('W1', 'runs a file; arguments take the types of its input, and a wrong one calls no tool', async () => {
    const { heddle, calls } = await workflowDesk({ 'two-notes': TWO_NOTES });
    const file = '.heddle/workflows/two-notes.yaml';
    expect((await heddle(['run', file, 'topic=x', 'n=3', '--input', '{"n":1}'])).code).toBe(0);
    const wrong = await heddle(['run', 'two-notes', 'topic=x', 'n=many']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('n wants')]);
    const missing = await heddle(['run', 'two-notes']);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('topic')]);
    const misspelt = await heddle(['run', 'two-notes', 'topic=x', 'wrod=y']);
    expect([misspelt.code, misspelt.stderr]).toEqual([2, expect.stringContaining('Did you mean word?')]);
    for (const words of [['topic=x'], []]) {
      const unknown = await heddle(['run', 'two-note', ...words]);
      expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('There is no workflow two-note')]);
      expect(unknown.stderr).toContain('Did you mean two-notes?');
    }
    expect(calls()).toHaveLength(2);
  });

  verifies('W6', 'a dry run and an export call no tool', async () => {
    const { heddle, calls } = await workflowDesk({ 'two-notes': TWO_NOTES });
    const plan = await heddle(['run', 'two-notes', 'topic=tea', '--dry-run']);
    expect([plan.code, plan.stderr]).toEqual([0, '']);
    expect(plan.stdout).toMatch(/^first +tool +\S*notes\S*write +allow .*\{"text":"tea"\}$/m);
    expect(plan.stdout).toMatch(/^second .*\{"text":"again: tea"\}$/m);
    expect(plan.stdout).toContain('a run makes 2 calls; no step needs an approval. No tool was called.');
    const chart = await heddle(['run', 'two-notes', '--export', 'mermaid']);
    expect([chart.code, chart.stdout]).toEqual([0, expect.stringMatching(/^flowchart[\s\S]*first[\s\S]*second/)]);
    const json = await heddle(['run', 'two-notes', '--export', 'mermaid', '--json']);
    expect(JSON.parse(json.stdout)).toEqual({ mermaid: chart.stdout.trimEnd() });
    expect(calls()).toEqual([]);
  });

  verifies(
    'W6',
    'refuses a workflow with lint errors before an approval is requested or a tool is called',
    async () => {
      const { heddle, calls } = await workflowDesk({ typo: TYPO }, { permissions: { ask: ['mcp__workflow'] } });
      for (const word of ['typo', '.heddle/workflows/typo.yaml']) {
        const { code, stderr } = await heddle(['run', word]);
        expect(code).toBe(3);
        expect(stderr).toMatch(
          /WORKFLOW_INVALID: .*workflows\/typo\.yaml:4:\d+:\s+STEP_UNKNOWN:[\s\S]*frist[\s\S]*fix: /,
        );
      }
      expect(calls()).toEqual([]);
      expect((await heddle(['approvals'])).stderr).toContain('No approval is pending.');
    },
  );

  verifies('W6', 'names the file as given in the advice to lint it', async () => {
    const { heddle, path } = await workflowDesk({});
    await writeFile(path('plain/bad file.yaml'), TYPO);
    const { stderr } = await heddle(['run', '../plain/bad file.yaml']);
    expect(stderr.replace(/\s+/g, ' ')).toContain("`heddle lint '../plain/bad file.yaml'` shows all 2 errors.");
  });

  it('explains what to write', async () => {
    const { heddle } = await workflowDesk({ asks: ASKS });
    const none = await heddle(['run']);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('heddle list workflows')]);
    const format = await heddle(['run', 'asks', '--export', 'svg']);
    expect([format.code, format.stderr]).toEqual([2, expect.stringContaining('mermaid')]);
  });
});

verifies(
  'L4',
  'a run that needs an approval exits with 6, and goes on with `runs resume` after the decision',
  async () => {
    const { heddle, calls } = await workflowDesk({ asks: ASKS });
    const { code, stdout, stderr } = await heddle(['run', 'asks']);
    expect([code, stdout]).toEqual([6, '']);
    const [, run = '', approval = ''] = /The run (\S+) waits for the approval (ap_\w+)\./.exec(stderr) ?? [];
    expect(stderr).toContain(`then \`heddle runs resume ${run}\``);
    const key = (await heddle(['key', 'create', 'ops', '--role', 'approver'])).stdout.trim();
    const approved = await heddle(['approvals', 'approve', approval], { env: { HEDDLE_KEY: key } });
    expect([approved.code, approved.stderr]).toEqual([0, expect.stringContaining(`heddle runs show ${run}`)]);
    expect((await heddle(['runs'])).stdout).toContain('no process executes it');
    const resumed = await heddle(['runs', 'resume', run]);
    expect([resumed.code, resumed.stdout]).toEqual([0, '{"approved":true}\n']);
    expect(calls()).toEqual(['{"text":"approved"}']);
  },
);

verifies('W6', '`runs` lists and shows runs, prints their history and retries them from a step', async () => {
  const { heddle, calls } = await workflowDesk({ fails: FAILS });
  expect((await heddle(['runs'])).stderr).toContain('No run is open.');
  const failed = await heddle(['run', 'fails', '--json']);
  expect(JSON.parse(failed.stdout)).toMatchObject({ success: false, status: 'failed', error: { path: 'bad' } });
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('RUN_FAILED')]);
  const [{ id }] = JSON.parse((await heddle(['runs', '--all', '--json'])).stdout);
  const table = await heddle(['runs', 'list', '--all', '--workflow', 'fails']);
  expect(table.stdout).toMatch(new RegExp(`^${id} +fails +failed .*bad: EXPRESSION_FAILED: `, 'm'));
  const shown = await heddle(['runs', 'show', id.slice(0, 30)]);
  expect(shown.stdout).toMatch(/^status +failed$/m);
  expect(shown.stdout).toMatch(/^ {2}✓ good .*\n {2}✗ bad /m);
  const history = (await heddle(['runs', 'events', id, '--json'])).stdout.trim().split('\n');
  expect(history.map((line) => JSON.parse(line).sequence)).toEqual(history.map((_, at) => at + 1));
  const bare = await heddle(['runs', 'retry', id]);
  expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining('--from STEP')]);
  const again = await heddle(['runs', 'retry', id, '--from', 'bad']);
  expect([again.code, again.stderr]).toEqual([
    1,
    expect.stringMatching(/RUN_FAILED: The run \S+ of fails failed at bad/),
  ]);
  expect(calls()).toHaveLength(1);
  const unknown = await heddle(['runs', 'show', 'nothing']);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('nothing')]);
});

verifies('W5', 'a run that no process executes is named by list, show and doctor, and `cancel` ends it', async () => {
  const { heddle, calls } = await workflowDesk({ asks: ASKS, 'two-notes': TWO_NOTES });
  const id = (await heddle(['run', 'two-notes', 'topic=tea', '--detach'])).stdout.trim();
  const listed = await heddle(['runs']);
  expect(listed.stdout).toMatch(/running, no process executes it/);
  expect(listed.stderr).toContain(`heddle runs resume ${id}`);
  expect((await heddle(['runs', 'show', id])).stderr).toContain('No process executes it');
  expect((await heddle(['doctor'])).stdout).toContain(`heddle runs resume ${id}`);
  const waiting = /The run (\S+) waits/.exec((await heddle(['run', 'asks'])).stderr)?.[1] ?? '';
  for (const run of [id, waiting]) {
    expect(await heddle(['runs', 'cancel', run])).toMatchObject({ code: 0, stdout: `${run} is cancelled.\n` });
    expect((await heddle(['runs', 'show', run])).stdout).toMatch(/^status +cancelled$/m);
  }
  expect((await heddle(['runs', 'cancel', id])).stdout).toBe(`${id} has ended.\n`);
  expect(calls()).toEqual([]);
});

verifies(
  'W5',
  '`runs resolve` goes on with the run, and `show` has its whole input and the time of the call in doubt',
  async () => {
    const { heddle } = await workflowDesk({ exits: EXITS });
    const { code, stderr } = await heddle(['run', 'exits']);
    const id = /The run (\S+) is in doubt/.exec(stderr)?.[1] ?? stderr;
    expect(code).toBe(9);
    const { doubts, input } = JSON.parse((await heddle(['runs', 'show', id, '--json'])).stdout);
    expect(input).toEqual({ word: 'exit' });
    expect(doubts[0].since).toBe(doubts[0].records.find(({ phase }: { phase: string }) => phase === 'intent').at);
    const settled = await heddle(['runs', 'resolve', id, '--happened', '--result', '{"text":"by hand"}']);
    expect([settled.code, settled.stdout]).toEqual([0, 'by hand\n']);
  },
);
