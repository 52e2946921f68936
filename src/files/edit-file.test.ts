import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../test/until.ts';
import { editFile, replaceFile } from './edit-file.ts';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'heddle-edit-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);

it('replaces a whole file, keeps its mode and leaves no temporary file', async () => {
  const at = await folder();
  const file = join(at, 'a.json');
  await writeFile(file, 'old');
  await chmod(file, 0o664);
  await replaceFile(file, 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect(await modeOf(file)).toBe('664');
  expect(await readdir(at)).toEqual(['a.json']);
});

it('creates files with mode 0600 and folders with 0700 in the home folder, and with 0644 elsewhere', async () => {
  const at = await folder();
  const home = join(at, 'home');
  await replaceFile(join(home, 'deep', 'a.json'), '{}', { home });
  await replaceFile(join(at, 'project', 'a.json'), '{}', { home });
  expect(await modeOf(join(home, 'deep', 'a.json'))).toBe('600');
  expect(await modeOf(join(home, 'deep'))).toBe('700');
  expect(await modeOf(join(at, 'project', 'a.json'))).toBe('644');
});

it('writes the file at the end of a chain of symbolic links, also if it does not exist yet', async () => {
  const at = await folder();
  await symlink('second', join(at, 'first'));
  await symlink('real.json', join(at, 'second'));
  await replaceFile(join(at, 'first'), 'text');
  expect((await lstat(join(at, 'first'))).isSymbolicLink()).toBe(true);
  expect((await lstat(join(at, 'real.json'))).isFile()).toBe(true);
  expect(await readFile(join(at, 'real.json'), 'utf8')).toBe('text');
});

it('names the reason why a target cannot be written, and leaves no temporary file', async () => {
  const at = await folder();
  await mkdir(join(at, 'folder.json'));
  await symlink('loop', join(at, 'loop'));
  await writeFile(join(at, 'file'), '');
  await writeFile(join(at, 'bytes.json'), new Uint8Array([0xff, 0xfe, 0x7b]));
  await expect(replaceFile(join(at, 'folder.json'), 'x')).rejects.toThrow(/is a folder/);
  await expect(replaceFile(join(at, 'loop'), 'x')).rejects.toThrow(/never ends at a file/);
  await expect(replaceFile(join(at, 'file', 'below.json'), 'x')).rejects.toThrow(/cannot be changed \(E/);
  await expect(editFile(join(at, 'bytes.json'), () => 'x')).rejects.toThrow(/is not UTF-8/);
  expect((await readdir(at)).sort()).toEqual(['bytes.json', 'file', 'folder.json', 'loop']);
});

it('applies the edit to the new text when another program wrote meanwhile', async () => {
  const file = join(await folder(), 'a.txt');
  const marks = [...'0123456789'];
  await Promise.all(marks.map((mark) => editFile(file, (before) => `${before}${mark}`)));
  expect([...(await readFile(file, 'utf8'))].sort()).toEqual(marks);
});

it('removes the temporary file of a process that was killed while it wrote', async () => {
  const at = await folder();
  const file = join(at, 'a.txt');
  await writeFile(join(at, '.a.txt.heddle-new'), 'half');
  await utimes(join(at, '.a.txt.heddle-new'), 1, 1);
  await replaceFile(file, 'whole');
  expect(await readFile(file, 'utf8')).toBe('whole');
  expect(await readdir(at)).toEqual(['a.txt']);
});

it('throws CONFIG_INVALID when another program changes the file during each attempt', async () => {
  const file = join(await folder(), 'a.txt');
  let writes = 0;
  await writeFile(file, 'start');
  await expect(
    editFile(file, (before) => {
      writeFileSync(file, `other ${writes++}`);
      return `${before}x`;
    }),
  ).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('Another program changed') });
  expect(await readFile(file, 'utf8')).toBe(`other ${writes - 1}`);
});

it('leaves the old file when the process is killed before the rename', async () => {
  const at = await folder();
  const file = join(at, 'a.json');
  await writeFile(file, 'old');
  // So large that the kill falls between the creation of the new file and its rename.
  const program = `import { replaceFile } from ${JSON.stringify(join(import.meta.dirname, 'edit-file.ts'))};
    await replaceFile(${JSON.stringify(file)}, 'x'.repeat(150_000_000));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  await until('the new file is begun', async () => (await readdir(at)).length > 1);
  child.kill('SIGKILL');
  await exited;
  expect(await readFile(file, 'utf8')).toBe('old');
});
