import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { temporaryFolder } from '../../test/temporary-heddle.ts';

const ROOT = join(import.meta.dirname, '../..');

verifies('X1', 'the blocks of the guide are one program that prints what the guide says', async () => {
  const guide = readFileSync(join(ROOT, 'docs/guides/library.md'), 'utf8');
  const blocks = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block).join('\n');
  const [, printed = ''] = /All blocks of this page together print:\n\n```\n(.*?)```/s.exec(guide) ?? [];
  const folder = await temporaryFolder();
  const [project, home] = [join(folder, 'project'), join(folder, 'home')];
  mkdirSync(project);
  writeFileSync(join(project, 'notes.txt'), 'Call Bo.\n');
  const module = JSON.stringify(join(ROOT, 'src/index.ts'));
  writeFileSync(join(project, 'program.mts'), blocks.replaceAll("'heddle'", module));
  const env = { PATH: process.env.PATH, HEDDLE_HOME: home, HOME: home };
  const child = spawnSync(process.execPath, ['program.mts'], { cwd: project, env });
  expect([child.stderr.toString(), child.stdout.toString(), child.status]).toEqual(['', printed, 0]);
});
