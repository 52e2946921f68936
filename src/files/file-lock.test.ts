import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { withFileLock } from './file-lock.ts';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'heddle-lock-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

it('runs one action at a time, in this process and in others', async () => {
  const home = await folder();
  const file = join(home, 'count');
  await writeFile(file, '0');
  const program = `import { readFile, writeFile } from 'node:fs/promises';
    import { withFileLock } from ${JSON.stringify(join(import.meta.dirname, 'file-lock.ts'))};
    const file = process.argv[1];
    for (let turn = 0; turn < 5; turn++)
      await withFileLock(file, async () => writeFile(file, String(1 + Number(await readFile(file, 'utf8')))));`;
  const children = [1, 2].map(() =>
    once(spawn(process.execPath, ['--input-type=module', '-e', program, file]), 'exit'),
  );
  const increment = async () => writeFile(file, String(1 + Number(await readFile(file, 'utf8'))));
  await Promise.all([1, 2, 3, 4, 5].map(() => withFileLock(file, increment)));
  for (const [code] of await Promise.all(children)) expect(code).toBe(0);
  expect(await readFile(file, 'utf8')).toBe('15');
  expect(await readdir(home)).toEqual(['count']);
});

it('removes the lock when the action throws', async () => {
  const home = await folder();
  const failing = withFileLock(join(home, 'count'), () => Promise.reject(new Error('failed')));
  await expect(failing).rejects.toThrow('failed');
  expect(await readdir(home)).toEqual([]);
});

it('takes over the lock of a dead process', async () => {
  const home = await folder();
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  await writeFile(join(home, 'count.lock'), `${child.pid} ${hostname()} left`);
  expect(await withFileLock(join(home, 'count'), async () => 'done')).toBe('done');
  expect(await readdir(home)).toEqual([]);
});
