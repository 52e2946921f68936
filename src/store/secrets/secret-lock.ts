import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { HeddleError } from '../../core/errors.ts';

const PATIENCE_MS = 10_000;
const PAUSE_MS = 10;

/** Runs `act` while nobody else, in this process or another, holds the lock beside `file`. */
export async function withLock<T>(file: string, act: () => Promise<T>): Promise<T> {
  const lock = `${file}.lock`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const mine = `${process.pid} ${hostname()} ${randomBytes(6).toString('hex')}`;
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await take(lock, mine))) {
    if (performance.now() > deadline) throw held(lock);
    await wait(PAUSE_MS);
  }
  try {
    return await act();
  } finally {
    await rm(lock, { force: true });
  }
}

// Linked whole: a lock without its holder's number could not be told from one whose holder died.
async function take(lock: string, mine: string): Promise<boolean> {
  const own = `${lock}.${mine.split(' ').at(-1)}`;
  await writeFile(own, mine, { mode: 0o600 });
  try {
    await link(own, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    await removeAbandoned(lock, own);
    return false;
  } finally {
    await rm(own, { force: true });
  }
}

async function removeAbandoned(lock: string, own: string): Promise<void> {
  const holder = await readFile(lock, 'utf8').catch(() => undefined);
  const [pid, host] = holder?.split(' ') ?? [];
  // On a home folder that machines share, the number of a process means something on its own machine only.
  if (holder === undefined || host !== hostname() || isAlive(Number(pid))) return;
  const aside = `${own}.abandoned`;
  await rename(lock, aside).catch(() => undefined);
  // Somebody may have removed it and taken the lock since it was read: that one is given back.
  const taken = await readFile(aside, 'utf8').catch(() => undefined);
  if (taken !== undefined && taken !== holder) await link(aside, lock).catch(() => undefined);
  await rm(aside, { force: true });
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function held(lock: string): HeddleError {
  return new HeddleError(
    'CONFIG_INVALID',
    `${lock} has been held by another Heddle for ${PATIENCE_MS / 1000} seconds.`,
    {
      fix: 'Wait for the other command to end, or remove the file when there is none.',
    },
  );
}
