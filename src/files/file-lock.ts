import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { HeddleError } from '../core/errors.ts';
import { createPrivateFile } from './private-file.ts';

const LOCK_WAIT_MS = 10_000;
const PAUSE_MS = 10;

/**
 * Runs `act` while this process holds `<file>.lock`, which excludes other processes and other calls in this one.
 * Throws CONFIG_INVALID after 10 s of waiting. A lock of a dead process on this machine is removed.
 */
export async function withFileLock<T>(file: string, act: () => Promise<T>): Promise<T> {
  const lock = `${file}.lock`;
  const owner = `${process.pid} ${hostname()} ${randomBytes(6).toString('hex')}`;
  const deadline = performance.now() + LOCK_WAIT_MS;
  // Created with its content: a lock without the owner's pid would look like that of a dead process.
  while (!(await createPrivateFile(lock, owner, { sync: false }))) {
    await removeAbandoned(lock);
    if (performance.now() > deadline) throw lockTimeout(lock);
    await wait(PAUSE_MS);
  }
  try {
    return await act();
  } finally {
    await rm(lock, { force: true });
  }
}

async function removeAbandoned(lock: string): Promise<void> {
  const owner = await readFile(lock, 'utf8').catch(() => undefined);
  const [pid, host] = owner?.split(' ') ?? [];
  // Machines may share a home folder, and a pid means something on its own machine only.
  if (owner === undefined || host !== hostname() || isAlive(Number(pid))) return;
  const aside = `${lock}.${randomBytes(6).toString('hex')}.abandoned`;
  await rename(lock, aside).catch(() => undefined);
  // Another process may have taken the lock since it was read. Its lock is put back.
  const moved = await readFile(aside, 'utf8').catch(() => undefined);
  if (moved !== undefined && moved !== owner) await link(aside, lock).catch(() => undefined);
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

function lockTimeout(lock: string): HeddleError {
  const message = `Another Heddle process has held ${lock} for ${LOCK_WAIT_MS / 1000} seconds.`;
  return new HeddleError('CONFIG_INVALID', message, {
    fix: 'Wait for the other command to end, or remove the file if no other command runs.',
  });
}
