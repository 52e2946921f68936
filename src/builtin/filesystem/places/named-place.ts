import { constants } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolFailure } from '../../tool-failure.ts';
import type { FilePlace } from './place.ts';

// On Windows only O_RDONLY is defined. `|` treats the undefined ones as 0.
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * Finds a place by its path, on platforms without O_PATH handles. `open` checks that the opened file is the checked one,
 * by inode and device.
 */
export async function namePlace(real: string): Promise<FilePlace> {
  const stats = await lstat(real);
  return {
    real,
    stats,
    address: real,
    child: (name) => namePlace(join(real, name)),
    open: () => openSame(real, stats),
    hasMoved: async () => (await realpath(real)) !== real,
    close: async () => {},
  };
}

async function openSame(real: string, checked: FilePlace['stats']): Promise<FileHandle> {
  const handle = await open(real, READ);
  try {
    const opened = await handle.stat();
    if (opened.ino === checked.ino && opened.dev === checked.dev) return handle;
    throw new ToolFailure('The file was replaced while it was being opened. Read it again.');
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}
