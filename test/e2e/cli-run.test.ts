import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { terminal } from './terminal.ts';
import { workflowProject } from './workflow-project.ts';

const WIDE = { rows: 60, cols: 200 };
const ASKS = `heddle: 1
steps:
  - { id: ok, approval: { title: Write the note? } }
  - { id: write, if: $ok.result.approved, tool: notes.write, input: { text: approved } }
output: { approved: $ok.result.approved }
`;
const SLOW = `heddle: 1
steps:
  - { id: pause, wait: { for: 1h } }
  - { id: write, tool: notes.write, input: { text: late } }
`;
const HANGS = 'heddle: 1\nsteps:\n  - { id: write, tool: notes.write, input: { text: hang } }\n';
const OUTER = 'heddle: 1\nsteps:\n  - { id: sub, workflow: asks, input: {} }\n';

verifies('G6', 'a run asks at a terminal for a run below it, shows the steps, and goes on with a yes', async () => {
  const one = workflowProject({ workflows: { asks: ASKS, outer: OUTER } });
  const { type, ended, screen } = await terminal(one, ['run', 'outer'], WIDE);
  await type('Approve it? [y/', 'y');
  expect(await ended()).toBe(0);
  expect(screen()).toContain('Write the note?');
  expect(screen()).toMatch(/✓ sub .*\n.*✓ ok .*\n.*✓ write /);
  expect(one.calls()).toEqual(['{"text":"approved"}']);
});

verifies('W6', 'Ctrl-C asks once: the run is left and resumed later, or cancelled', async () => {
  const one = workflowProject({ workflows: { slow: SLOW } });
  const left = await terminal(one, ['run', 'slow'], WIDE);
  await left.press('… pause', '\x03');
  await left.type('[c]ancel, [L]eave:', '');
  expect(await left.ended()).toBe(130);
  const [, id = ''] = /heddle runs resume (\S+)`/.exec(left.screen()) ?? [];
  const again = await terminal(one, ['runs', 'resume', id], WIDE);
  await again.press('… pause', '\x03');
  await again.type('[c]ancel, [L]eave:', 'c');
  expect(await again.ended()).toBe(130);
  expect(again.screen()).toContain('was cancelled');
  expect(one.calls()).toEqual([]);
});

verifies('W5', 'a killed command leaves a run in doubt, and `runs resolve` settles it', async () => {
  const one = workflowProject({ workflows: { hangs: HANGS } });
  const killed = await one.heddle(['run', 'hangs'], {
    async meanwhile(child) {
      await until('the server has the call', () => one.calls().length === 1);
      child.kill('SIGKILL');
    },
  });
  expect(killed.code).toBe(null);
  const [{ id, stopped }] = JSON.parse((await one.heddle(['runs', '--json'])).stdout);
  expect(stopped).toBe(true);
  const resumed = await one.heddle(['runs', 'resume', id]);
  expect([resumed.code, resumed.stderr]).toEqual([9, expect.stringContaining(`heddle runs show ${id}`)]);
  const shown = (await one.heddle(['runs', 'show', id])).stdout;
  expect(shown).toContain(`heddle runs resolve ${id} --step write --happened`);
  expect(shown).toMatch(/^ {2}\S+Z {2}intent {2}/m);
  const settled = await one.heddle(['runs', 'resolve', id, '--happened', '--result', '{"text":"written"}']);
  expect(settled).toMatchObject({ code: 0, stdout: '{"text":"written"}\n' });
  expect(one.calls()).toHaveLength(1);
});

verifies('W4', 'a running gateway executes runs of commands: followed, detached, and with an approval', async () => {
  const one = workflowProject({ workflows: { asks: ASKS, plain: HANGS.replace('hang', 'plain') } });
  await one.up();
  const through = await one.heddle(['run', 'plain', '-v']);
  expect([through.code, JSON.parse(through.stdout)]).toMatchObject([0, { text: 'written' }]);
  expect(through.stderr).toContain('Using the gateway at');
  expect((await one.heddle(['run', 'plain', '--detach'])).code).toBe(0);
  await until('the gateway has executed it', () => one.calls().length === 2);
  const asks = await terminal(one, ['run', 'asks'], WIDE);
  await asks.type('Approve it? [y/', 'y');
  expect(await asks.ended()).toBe(0);
  const waits = await one.heddle(['run', 'asks']);
  const [, id = ''] = /The run (\S+) waits/.exec(waits.stderr) ?? [];
  expect(await one.heddle(['runs', 'cancel', id])).toMatchObject({ code: 0, stdout: `${id} is cancelled.\n` });
  expect(one.calls()).toHaveLength(3);
});
