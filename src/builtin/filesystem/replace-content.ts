import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, type FileHandle, lstat, open, opendir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../core/time.ts';
import { ToolFailure } from '../tool-failure.ts';
import { fileErrorCode } from './places/file-error.ts';
import type { WriteTarget } from './places/find-target.ts';
import type { FilePlace } from './places/place.ts';

const CHUNK = 1024 * 1024;
const PRIVATE = 0o600;
const TEMPORARY = /^\.heddle-[0-9a-f]{32}\.tmp$/;
const LEFTOVER_AGE_MS = 3_600_000;
// A larger directory is not searched to its end.
const MAX_SEARCHED = 10_000;
const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY;

interface ReplaceOptions {
  readonly signal: AbortSignal;
  /** The permissions that new files do not get. */
  readonly umask: number;
}

/** Tests whether a name is that of a temporary file of these tools. Old ones are removed. */
export const isTemporaryName = (name: string): boolean => TEMPORARY.test(name);

/**
 * Writes a file as a whole: into a temporary file in its directory, which then takes its name. At every moment the file
 * has its old or its new content. A failure removes the temporary file.
 */
export async function replaceContent(target: WriteTarget, bytes: Buffer, options: ReplaceOptions): Promise<void> {
  const { parent, name, existing } = target;
  const { signal } = options;
  if (existing) await access(existing.address, constants.W_OK);
  const temporary = join(parent.address, `.heddle-${randomBytes(16).toString('hex')}.tmp`);
  const file = await open(temporary, 'wx', PRIVATE);
  try {
    try {
      await writeAll(file, bytes, signal);
      await takeOver(file, existing, options);
      await file.sync();
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    if (await parent.hasMoved())
      throw new ToolFailure('The directory of the file has moved meanwhile. Write it again.');
    await rename(temporary, join(parent.address, name));
  } catch (thrown) {
    await unlink(temporary).catch(() => {});
    throw thrown;
  }
  await confirmNames([parent, ...target.createdIn]);
}

/** Waits until new names are on the disk. The file has its new content by now, so a failure must say so. */
async function confirmNames(directories: readonly FilePlace[]): Promise<void> {
  try {
    for (const directory of directories) await syncDirectory(directory);
  } catch (cause) {
    const reason = `the disk has not confirmed it (${fileErrorCode(cause) ?? 'unknown error'})`;
    throw new ToolFailure(`The file has its new content, but ${reason}. Read it to check, then write it again.`, {
      cause,
    });
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, signal: AbortSignal): Promise<void> {
  let at = 0;
  while (at < bytes.length) {
    signal.throwIfAborted();
    const { bytesWritten } = await file.write(bytes, at, Math.min(CHUNK, bytes.length - at), at);
    at += bytesWritten;
  }
}

/** Gives the new file the owner and group of the old one, if permitted, and its mode without set-id and sticky bits. */
async function takeOver(file: FileHandle, existing: FilePlace | undefined, { umask }: ReplaceOptions): Promise<void> {
  if (!existing) return file.chmod(0o666 & ~umask);
  const { uid, gid, mode } = existing.stats;
  const own = await file.stat();
  if (own.uid !== uid || own.gid !== gid) {
    await file.chown(uid, gid).catch(unlessForbidden);
    if (own.uid !== uid) await file.chown((await file.stat()).uid, gid).catch(unlessForbidden);
  }
  const hasGroup = (await file.stat()).gid === gid;
  await file.chmod(hasGroup ? mode & 0o777 : withoutGroup(mode));
}

/** Returns the mode for another group. Its members and all others get what both the old group and others had. */
function withoutGroup(mode: number): number {
  const shared = (mode >> 3) & mode & 0o7;
  return (mode & 0o700) | (shared << 3) | shared;
}

function unlessForbidden(thrown: unknown): void {
  if (fileErrorCode(thrown) !== 'EPERM') throw thrown;
}

const NO_SYNC: readonly unknown[] = ['EINVAL', 'ENOTSUP', 'EPERM', 'EACCES'];

/** Some file systems cannot sync directories, and a directory without read permission cannot be opened for it. */
async function syncDirectory({ address }: FilePlace): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(address, OPEN_DIRECTORY);
    await handle.sync();
  } catch (thrown) {
    if (!NO_SYNC.includes(fileErrorCode(thrown))) throw thrown;
  } finally {
    await handle?.close();
  }
}

/** Removes temporary files in a directory that a killed process left over an hour ago. Ignores failures. */
export async function removeLeftovers({ address }: FilePlace, clock: Clock): Promise<void> {
  try {
    let searched = 0;
    for await (const { name } of await opendir(address, { bufferSize: 1024 })) {
      if (++searched > MAX_SEARCHED) return;
      if (isTemporaryName(name)) await removeIfOld(join(address, name), clock);
    }
  } catch {
    // The file is written. Leftovers are removed by a later write.
  }
}

async function removeIfOld(path: string, clock: Clock): Promise<void> {
  const stats = await lstat(path);
  if (stats.isFile() && clock() - stats.mtimeMs > LEFTOVER_AGE_MS) await unlink(path);
}
