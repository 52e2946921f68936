import { copyFileSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { workflowProject } from './workflow-project.ts';

const ASKS = `heddle: 1
steps:
  - { id: ok, approval: { title: Write the note? } }
  - { id: write, tool: notes.write, input: { text: approved } }
`;
const NOTE = 'heddle: 1\nsteps:\n  - { id: write, tool: notes.write, input: { text: detached } }\n';
const workflows = { asks: ASKS, note: NOTE };

verifies('W5', 'a gateway executes no run of another project that shares its store', async () => {
  const shop = workflowProject({ workflows });
  const clone = workflowProject({ workflows, home: shop.home });
  const other = await clone.up();
  const { stderr } = await shop.heddle(['run', 'asks']);
  const [, run = '', approval = ''] = /The run (\S+) waits for the approval (ap_\w+)\./.exec(stderr) ?? [];
  const key = (await shop.heddle(['key', 'create', 'ops', '--role', 'approver'])).stdout.trim();
  const env = { HEDDLE_KEY: key };
  expect(await shop.heddle(['approvals', 'approve', approval], { env })).toMatchObject({ code: 0 });
  const detached = await shop.heddle(['run', 'note', '--detach']);
  expect(detached.stderr).toContain('A gateway of this project executes it');
  expect((await clone.heddle(['run', 'note', '--detach', '--local'])).code).toBe(0);
  // Runs are claimed oldest first: this one is the newest.
  await until('the gateway has executed the run of its project', () => clone.calls().length > 0);

  expect(await shop.heddle(['runs', 'resume', run])).toMatchObject({ code: 0 });
  expect(shop.calls()).toEqual(['{"text":"approved"}']);
  await other.stop();
  await shop.up();
  await until('the gateway of the project has executed the other run', () => shop.calls().length === 2);
  expect(clone.calls()).toEqual(['{"text":"detached"}']);
});

verifies(
  'W5',
  'refuses to go on with a run of another project or another --config, and says where to do it',
  async () => {
    const shop = workflowProject({ workflows });
    const clone = workflowProject({ workflows, home: shop.home });
    const folder = realpathSync(shop.folder);
    const run = /The run (\S+) waits/.exec((await shop.heddle(['run', 'asks'])).stderr)?.[1] ?? '';
    const shown = JSON.parse((await clone.heddle(['runs', 'show', run, '--json'])).stdout);
    expect(shown).toMatchObject({ id: run, origin: { folder } });
    expect((await clone.heddle(['runs', 'show', run])).stdout).toContain(folder);
    for (const words of [['resume'], ['cancel']]) {
      const refused = await clone.heddle(['runs', ...words, run]);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(`USAGE_INVALID: The run ${run}`)]);
      expect(refused.stderr).toContain(`cd ${folder}`);
    }
    const file = join(folder, 'heddle.json');
    const elsewhere = await shop.heddle(['runs', 'resume', run, '--config', 'heddle.json']);
    expect([elsewhere.code, elsewhere.stderr]).toEqual([2, expect.stringContaining('without `--config`')]);
    const begun = await shop.heddle(['run', '.heddle/workflows/note.yaml', '--detach', '--config', 'heddle.json']);
    const id = begun.stdout.trim();
    expect(begun.stderr).toContain(`heddle runs resume ${id} --config ${file}`);
    const bare = await shop.heddle(['runs', 'resume', id]);
    expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining(`--config ${file}`)]);
    expect([shop.calls(), clone.calls()]).toEqual([[], []]);
    expect(await shop.heddle(['runs', 'resume', id, '--config', file])).toMatchObject({ code: 0 });
    expect(await shop.heddle(['runs', 'cancel', run])).toMatchObject({ code: 0, stdout: `${run} is cancelled.\n` });
    const ended = await clone.heddle(['runs', 'retry', id, '--from', 'write']);
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(`--config ${file}`)]);
  },
);

verifies('W5', 'a run whose project folder or --config file is gone goes on from any folder', async () => {
  const shop = workflowProject({ workflows });
  const clone = workflowProject({ workflows, home: shop.home });
  const waiting = async (...options: string[]) =>
    /The run (\S+) waits/.exec((await shop.heddle(['run', '.heddle/workflows/asks.yaml', ...options])).stderr)?.[1] ??
    '';
  copyFileSync(join(shop.folder, 'heddle.json'), join(shop.folder, 'ci.json'));
  const [ofFile, ofFolder] = [await waiting('--config', 'ci.json'), await waiting()];
  rmSync(join(shop.folder, 'ci.json'));
  const cancelled = { code: 0, stdout: `${ofFile} is cancelled.\n` };
  expect(await shop.heddle(['runs', 'cancel', ofFile])).toMatchObject(cancelled);
  renameSync(shop.folder, join(clone.folder, 'moved'));
  expect((await clone.heddle(['runs', 'cancel', ofFolder])).code).toBe(0);
  const { origin } = JSON.parse((await clone.heddle(['runs', 'show', ofFolder, '--json'])).stdout);
  expect(origin).toEqual({ folder: realpathSync(clone.folder) });
});
