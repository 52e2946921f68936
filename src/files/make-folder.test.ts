import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, lstat, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { makeFolder } from './make-folder.ts';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'heddle-folder-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

it('creates a folder and its missing parents with the mode, and leaves existing ones as they are', async () => {
  const at = await folder();
  await chmod(at, 0o755);
  makeFolder(join(at, 'a', 'b'), 0o700);
  makeFolder(join(at, 'a', 'b'), 0o750);
  expect(await Promise.all([at, join(at, 'a'), join(at, 'a', 'b')].map(modeOf))).toEqual(['755', '700', '700']);
});

it('accepts a symbolic link to a folder', async () => {
  const at = await folder();
  makeFolder(join(at, 'real'));
  await symlink('real', join(at, 'link'));
  makeFolder(join(at, 'link', 'below'));
  expect((await lstat(join(at, 'real', 'below'))).isDirectory()).toBe(true);
});

it('throws below a file, a link to nothing and a path that is too long', async () => {
  const at = await folder();
  await writeFile(join(at, 'file'), '');
  await symlink('nothing', join(at, 'link'));
  const codeOf = (path: string) => {
    try {
      return makeFolder(path);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    }
  };
  expect(codeOf(join(at, 'file'))).toBe('EEXIST');
  expect(codeOf(join(at, 'file', 'below'))).toMatch(/EEXIST|ENOTDIR/);
  expect(codeOf(join(at, 'link', 'below'))).toBe('EEXIST');
  expect(codeOf(join(at, 'x'.repeat(300), 'below'))).toBe('ENAMETOOLONG');
});

// In a process of its own, which is ended: a loop in this one would block the tests.
it.runIf(existsSync('/proc/self'))('throws below /proc, where no folder can be created', () => {
  const program = `import { makeFolder } from ${JSON.stringify(join(import.meta.dirname, 'make-folder.ts'))};
    for (const path of ['/proc/x', '/proc/x/y'])
      try { makeFolder(path); } catch (error) { console.log(error.code); }`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  expect(String(stdout)).toBe('ENOENT\nENOENT\n');
});
