import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { HeddleError } from '../core/errors.ts';
import { createPrivateFile } from './private-file.ts';

const LOCK_WAIT_MS = 10_000;
const PAUSE_MS = 10;
/** Age after which a lock counts as left behind. Its owner refreshes it four times as often. */
const EXPIRY_MS = 60_000;

/**
 * Runs `act` while this process holds `<file>.lock`, which excludes other processes and other calls in this one.
 * Throws CONFIG_INVALID after 10 s of waiting. A lock is removed if its process on this machine is dead, or if it
 * was not refreshed for 60 s.
 */
export async function withFileLock<T>(file: string, act: () => Promise<T>): Promise<T> {
  const lock = `${file}.lock`;
  const owner = processName();
  const deadline = performance.now() + LOCK_WAIT_MS;
  // Created with its content: a lock without the owner's pid would look like that of a dead process.
  while (!(await createPrivateFile(lock, owner, { sync: false }))) {
    await removeAbandoned(lock);
    if (performance.now() > deadline) throw lockTimeout(lock);
    await wait(PAUSE_MS);
  }
  const refreshing = setInterval(() => void refresh(lock), EXPIRY_MS / 4).unref();
  try {
    return await act();
  } finally {
    clearInterval(refreshing);
    // A process that was suspended for 60 s has lost its lock. It leaves the lock of the next owner.
    if ((await readOwner(lock)) === owner) await rm(lock, { force: true });
  }
}

const readOwner = (lock: string) => readFile(lock, 'utf8').catch(() => undefined);

async function refresh(lock: string): Promise<void> {
  const now = new Date();
  await utimes(lock, now, now).catch(() => undefined);
}

async function removeAbandoned(lock: string): Promise<void> {
  const owner = await readOwner(lock);
  if (owner === undefined || !((await isExpired(lock)) || isOwnerDead(owner))) return;
  const aside = `${lock}.${randomBytes(6).toString('hex')}.abandoned`;
  await rename(lock, aside).catch(() => undefined);
  // Another process may have taken the lock since it was read. Its lock is put back.
  const moved = await readOwner(aside);
  if (moved !== undefined && moved !== owner) await createPrivateFile(lock, moved, { sync: false }).catch(() => false);
  await rm(aside, { force: true });
}

/** Tells whether a lock was not refreshed for 60 s. A restarted container may even have the pid of the dead owner. */
async function isExpired(lock: string): Promise<boolean> {
  const found = await stat(lock).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > EXPIRY_MS;
}

/** Returns a new name of this process: its pid, its machine and a random part. */
export const processName = (): string => `${process.pid} ${hostname()} ${randomBytes(6).toString('hex')}`;

/** Tests whether a process of this machine is dead, by its name. A pid means something on its own machine only. */
export function isOwnerDead(owner: string): boolean {
  const [pid, host] = owner.split(' ');
  return host === hostname() && !isAlive(Number(pid));
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
