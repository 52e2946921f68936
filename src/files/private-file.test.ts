import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { refuseLinks } from './fixtures.ts';
import { createPrivateFile, writePrivateFile } from './private-file.ts';

vi.mock('node:fs/promises', { spy: true });

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'heddle-private-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);

it('replaces a file that others could read by one with mode 0600, and leaves no temporary file', async () => {
  const home = await folder();
  const file = join(home, 'token');
  await writeFile(file, 'a longer old text');
  await chmod(file, 0o644);
  await writePrivateFile(file, 'new');
  expect(await readFile(file, 'utf8')).toBe('new');
  expect(await modeOf(file)).toBe('600');
  expect(await readdir(home)).toEqual(['token']);
});

it('shows a reader one of the written texts as a whole while many are written', async () => {
  const file = join(await folder(), 'token');
  const texts = [...'abcdefgh'].map((letter) => letter.repeat(100_000));
  await writePrivateFile(file, texts[0] ?? '');
  const writing = Promise.all(texts.map((text) => writePrivateFile(file, text)));
  for (let reads = 0; reads < 20; reads++) expect(texts).toContain(await readFile(file, 'utf8'));
  await writing;
});

it('creates missing folders with mode 0700', async () => {
  const home = join(await folder(), 'home');
  expect(await createPrivateFile(join(home, 'key'), 'k')).toBe(true);
  expect(await modeOf(home)).toBe('700');
  expect(await modeOf(join(home, 'key'))).toBe('600');
});

it('creates a file once when many create it at the same time', async () => {
  const home = await folder();
  const file = join(home, 'key');
  const created = await Promise.all([...'abcdefgh'].map((text) => createPrivateFile(file, text)));
  expect(created.filter(Boolean)).toHaveLength(1);
  expect(await readFile(file, 'utf8')).toBe('abcdefgh'[created.indexOf(true)]);
  expect(await readdir(home)).toEqual(['key']);
});

it('throws the error of the file system and leaves no temporary file', async () => {
  const home = await folder();
  await mkdir(join(home, 'token'));
  await expect(writePrivateFile(join(home, 'token'), 'x')).rejects.toMatchObject({ code: 'EISDIR' });
  expect(await readdir(home)).toEqual(['token']);
});

it.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'])(
  'creates a file once if hard links fail with %s',
  async (code) => {
    refuseLinks(code);
    const home = await folder();
    const file = join(home, 'key');
    const created = await Promise.all([...'abcdefgh'].map((text) => createPrivateFile(file, text)));
    expect(created.filter(Boolean)).toHaveLength(1);
    expect(await readFile(file, 'utf8')).toBe('abcdefgh'[created.indexOf(true)]);
    expect(await modeOf(file)).toBe('600');
    expect(await readdir(home)).toEqual(['key']);
  },
);

it('throws another error of a hard link', async () => {
  refuseLinks('EIO');
  const home = await folder();
  await expect(createPrivateFile(join(home, 'key'), 'k')).rejects.toMatchObject({ code: 'EIO' });
  expect(await readdir(home)).toEqual([]);
});

it('replaces the file at the end of a chain of symbolic links and keeps the links', async () => {
  const home = await folder();
  const real = join(home, 'dotfiles', 'token');
  await symlink('second', join(home, 'first'));
  await symlink(join('dotfiles', 'token'), join(home, 'second'));
  for (const text of ['new', 'newer']) {
    await writePrivateFile(join(home, 'first'), text); // The first time the end of the chain does not exist.
    expect(await readFile(real, 'utf8')).toBe(text);
    expect(await modeOf(real)).toBe('600');
  }
  for (const name of ['first', 'second']) expect((await lstat(join(home, name))).isSymbolicLink()).toBe(true);
  expect(await readdir(join(home, 'dotfiles'))).toEqual(['token']);
});

it('rejects a symbolic link that points to itself', async () => {
  const file = join(await folder(), 'token');
  await symlink(file, file);
  await expect(writePrivateFile(file, 'x')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
