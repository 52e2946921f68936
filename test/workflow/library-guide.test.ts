import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { temporaryFolder } from '../temporary-heddle.ts';

const ROOT = join(import.meta.dirname, '../..');

verifies('W6', 'the program of the guide registers a workflow, runs it and reads its runs', async () => {
  const folder = await temporaryFolder();
  const guide = readFileSync(join(ROOT, 'docs/guides/first-workflow.md'), 'utf8');
  const [, program = ''] = /## From a program.*?```ts\n(.*?)```/s.exec(guide) ?? [];
  const [, printed = ''] = /It prints:\n\n```\n(.*?)```/s.exec(guide) ?? [];
  const project = join(folder, 'project');
  mkdirSync(join(project, 'notes'), { recursive: true });
  writeFileSync(join(project, 'notes', 'monday.txt'), 'Call Bo.\n');
  writeFileSync(join(project, 'program.mjs'), program.replace("'heddle'", JSON.stringify(join(ROOT, 'src/index.ts'))));
  const home = join(folder, 'home');
  const env = { PATH: process.env.PATH, HEDDLE_HOME: home, HOME: home };
  const child = spawnSync(process.execPath, ['program.mjs'], { cwd: project, env });
  expect([child.stderr.toString(), child.stdout.toString(), child.status]).toEqual(['', printed, 0]);
});
