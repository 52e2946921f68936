import { randomBytes } from 'node:crypto';
import { link, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Mode of files that only their owner may read. */
export const PRIVATE_FILE = 0o600;
/** Mode of folders that only their owner may enter. */
export const PRIVATE_FOLDER = 0o700;

/**
 * Replaces a whole file with mode 0600. A reader sees the old text or the new one, never a part, also after a crash.
 * Throws the error of the file system.
 */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  await throughTemporary({ file, text, sync: true }, async (temporary) => {
    await rename(temporary, file);
    await syncFolder(dirname(file));
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
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      return false;
    }
  });
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
  await mkdir(dirname(file), { recursive: true, mode: PRIVATE_FOLDER });
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
