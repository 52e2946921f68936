import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { until } from '../../test/until.ts';
import { withFileLock } from './file-lock.ts';
import { refuseLinks } from './fixtures.ts';

vi.mock('node:fs/promises', { spy: true });

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

it('runs one action at a time if hard links are refused', async () => {
  refuseLinks('EPERM');
  const home = await folder();
  const file = join(home, 'count');
  await writeFile(file, '0');
  const increment = async () => writeFile(file, String(1 + Number(await readFile(file, 'utf8'))));
  await Promise.all([1, 2, 3, 4, 5].map(() => withFileLock(file, increment)));
  expect(await readFile(file, 'utf8')).toBe('5');
  expect(await readdir(home)).toEqual(['count']);
});

const LONG_AGO = new Date(0);
const AHEAD = new Date('2999-01-01');

it.each([
  ['another machine', '1 another-host left'],
  // A restarted container has the host name and often the pid of the one before.
  ['an earlier process with the same pid', `${process.pid} ${hostname()} left`],
  ['a process that ended before it wrote its name', ''],
])('takes over the lock of %s after 60 s without a refresh', async (_whose, owner) => {
  const home = await folder();
  const lock = join(home, 'count.lock');
  await writeFile(lock, owner);
  await utimes(lock, AHEAD, AHEAD);
  let isDone = false;
  const waiting = withFileLock(join(home, 'count'), async () => {
    isDone = true;
  });
  const examinations = () => vi.mocked(stat).mock.calls.filter(([path]) => path === lock).length;
  await until('the lock was examined twice', () => examinations() > 1);
  expect(isDone).toBe(false);
  await utimes(lock, LONG_AGO, LONG_AGO);
  await waiting;
  expect(isDone).toBe(true);
  expect(await readdir(home)).toEqual([]);
});

it('refreshes the lock every 15 s while the action runs', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const home = await folder();
  const lock = join(home, 'count.lock');
  await withFileLock(join(home, 'count'), async () => {
    await utimes(lock, LONG_AGO, LONG_AGO);
    vi.advanceTimersByTime(15_000);
    await until('the lock is refreshed', async () => (await stat(lock)).mtime > LONG_AGO);
  });
  expect(vi.getTimerCount()).toBe(0);
});

it('leaves the lock of another process that took over', async () => {
  const home = await folder();
  const lock = join(home, 'count.lock');
  await withFileLock(join(home, 'count'), () => writeFile(lock, '1 another-host new'));
  expect(await readFile(lock, 'utf8')).toBe('1 another-host new');
});
