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
import { until } from '../../../test/until.ts';
import { editFile, replaceFile } from './edit-file.ts';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'heddle-edit-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);

it('replaces a file whole, keeps its mode and leaves nothing beside it', async () => {
  const at = await folder();
  const file = join(at, 'a.json');
  await writeFile(file, 'old');
  await chmod(file, 0o664);
  await replaceFile(file, 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect(await modeOf(file)).toBe('664');
  expect(await readdir(at)).toEqual(['a.json']);
});

it('makes what is new in Heddle’s folder the user’s alone, and the rest ordinary', async () => {
  const at = await folder();
  const home = join(at, 'home');
  await replaceFile(join(home, 'deep', 'a.json'), '{}', { home });
  await replaceFile(join(at, 'project', 'a.json'), '{}', { home });
  expect(await modeOf(join(home, 'deep', 'a.json'))).toBe('600');
  expect(await modeOf(join(home, 'deep'))).toBe('700');
  expect(await modeOf(join(at, 'project', 'a.json'))).toBe('644');
});

it('writes what a link points to, through more than one and where nothing is yet', async () => {
  const at = await folder();
  await symlink('second', join(at, 'first'));
  await symlink('real.json', join(at, 'second'));
  await replaceFile(join(at, 'first'), 'text');
  expect((await lstat(join(at, 'first'))).isSymbolicLink()).toBe(true);
  expect((await lstat(join(at, 'real.json'))).isFile()).toBe(true);
  expect(await readFile(join(at, 'real.json'), 'utf8')).toBe('text');
});

it('says what is wrong with a target, and leaves nothing behind', async () => {
  const at = await folder();
  await mkdir(join(at, 'folder.json'));
  await symlink('loop', join(at, 'loop'));
  await writeFile(join(at, 'file'), '');
  await writeFile(join(at, 'bytes.json'), new Uint8Array([0xff, 0xfe, 0x7b]));
  await expect(replaceFile(join(at, 'folder.json'), 'x')).rejects.toThrow(/is a folder/);
  await expect(replaceFile(join(at, 'loop'), 'x')).rejects.toThrow(/leads nowhere/);
  await expect(replaceFile(join(at, 'file', 'below.json'), 'x')).rejects.toThrow(/cannot be changed \(E/);
  await expect(editFile(join(at, 'bytes.json'), () => 'x')).rejects.toThrow(/is not UTF-8/);
  expect((await readdir(at)).sort()).toEqual(['bytes.json', 'file', 'folder.json', 'loop']);
});

it('edits again when another program wrote meanwhile', async () => {
  const file = join(await folder(), 'a.txt');
  const marks = [...'0123456789'];
  await Promise.all(marks.map((mark) => editFile(file, (before) => `${before}${mark}`)));
  expect([...(await readFile(file, 'utf8'))].sort()).toEqual(marks);
});

it('goes on where another Heddle was killed while it wrote', async () => {
  const at = await folder();
  const file = join(at, 'a.txt');
  await writeFile(join(at, '.a.txt.heddle-new'), 'half');
  await utimes(join(at, '.a.txt.heddle-new'), 1, 1);
  await replaceFile(file, 'whole');
  expect(await readFile(file, 'utf8')).toBe('whole');
  expect(await readdir(at)).toEqual(['a.txt']);
});

it('gives up with a word when the file never stands still', async () => {
  const file = join(await folder(), 'a.txt');
  let round = 0;
  await writeFile(file, 'start');
  await expect(
    editFile(file, (before) => {
      writeFileSync(file, `other ${round++}`);
      return `${before}x`;
    }),
  ).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('by another program') });
  expect(await readFile(file, 'utf8')).toBe(`other ${round - 1}`);
});

it('leaves the old file when the process is killed before the rename', async () => {
  const at = await folder();
  const file = join(at, 'a.json');
  await writeFile(file, 'old');
  // So large that the kill falls between the creation of the new file and its rename.
  const program = `import { replaceFile } from ${JSON.stringify(join(import.meta.dirname, 'edit-file.ts'))};
    await replaceFile(${JSON.stringify(file)}, 'x'.repeat(150_000_000));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' });
  const gone = once(child, 'exit');
  await until('the new file is begun', async () => (await readdir(at)).length > 1);
  child.kill('SIGKILL');
  await gone;
  expect(await readFile(file, 'utf8')).toBe('old');
});
