import { randomBytes } from 'node:crypto';
import { type FileHandle, link, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { followLinks } from './follow-links.ts';
import { makeFolder } from './make-folder.ts';

/** Mode of files that only their owner may read. */
export const PRIVATE_FILE = 0o600;
/** Mode of folders that only their owner may enter. */
export const PRIVATE_FOLDER = 0o700;

/** Errors of file systems without hard links: exFAT, SMB, some FUSE. EMLINK: the file may have no second name. */
const NO_HARD_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/**
 * Replaces a whole file with mode 0600. A reader sees the old text or the new one, never a part, also after a crash.
 * Follows symbolic links. Throws the error of the file system, or CONFIG_INVALID for a link that never ends.
 */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const target = await followLinks(file);
  await throughTemporary({ file: target, text, sync: true }, async (temporary) => {
    await rename(temporary, target);
    await syncFolder(dirname(target));
  });
}

export interface CreateOptions {
  /** False does not wait for the disk: for files that mean nothing after a crash. */
  readonly sync?: boolean;
}

/**
 * Creates a file with mode 0600. Returns false and changes nothing if the file exists: of several processes that create
 * it at the same time, one succeeds. Throws the error of the file system.
 */
export function createPrivateFile(file: string, text: string, { sync = true }: CreateOptions = {}): Promise<boolean> {
  return throughTemporary({ file, text, sync }, async (temporary) => {
    try {
      await link(temporary, file); // Not `rename`: it would replace the file of another process.
      return true;
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (NO_HARD_LINKS.includes(code)) return createInPlace({ file, text, sync });
      if (code !== 'EEXIST') throw error;
      return false;
    }
  });
}

/** Creates a file without a hard link. Until it returns, other processes may see the file empty or in part. */
async function createInPlace({ file, text, sync }: NewFile): Promise<boolean> {
  let handle: FileHandle;
  try {
    handle = await open(file, 'wx', PRIVATE_FILE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
  try {
    await handle.writeFile(text);
    if (sync) await handle.sync();
    return true;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

interface NewFile {
  readonly file: string;
  readonly text: string;
  readonly sync: boolean;
}

async function throughTemporary<T>(
  { file, text, sync }: NewFile,
  publish: (temporary: string) => Promise<T>,
): Promise<T> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  makeFolder(dirname(file), PRIVATE_FOLDER);
  try {
    await writeFile(temporary, text, { mode: PRIVATE_FILE, flag: 'wx', flush: sync });
    return await publish(temporary);
  } finally {
    await rm(temporary, { force: true });
  }
}

/**
 * Syncs a folder, so that a power cut does not bring back the file's old name. Ignores file systems that cannot:
 * the file itself is whole either way.
 */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().catch(() => undefined);
  await handle.close();
}
