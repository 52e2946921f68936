import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { isProjectFolder } from './project-folder.ts';

verifies('C5', 'a folder is no project of its own once a parent folder has a marker, or it is gone', async () => {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'heddle-')));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const app = join(root, 'workspace', 'app');
  await mkdir(app, { recursive: true });
  const isProject = () => isProjectFolder(app, { home: join(root, 'home'), userHome: root });
  expect(await isProject()).toBe(true);
  await mkdir(join(root, 'workspace', '.git'));
  expect(await isProject()).toBe(false);
  await writeFile(join(app, 'heddle.json'), '{}');
  expect(await isProject()).toBe(true);
  await rm(app, { recursive: true });
  expect(await isProject()).toBe(false);
});
