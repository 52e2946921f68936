import { constants } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolFailure } from '../../tool-failure.ts';
import { type OpenFile, openFile } from './open-file.ts';
import type { FilePlace } from './place.ts';
import { pooledCalls } from './system-calls.ts';

// On Windows only O_RDONLY is defined. `|` treats the undefined ones as 0.
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * Finds a place by its path, on platforms without O_PATH handles. `open` checks that the opened file is the checked one,
 * by inode and device.
 */
export async function namePlace(real: string): Promise<FilePlace> {
  const stats = await pooledCalls.lstat(real);
  return {
    real,
    stats,
    address: real,
    child: (name) => namePlace(join(real, name)),
    statsOf: (name) => pooledCalls.lstat(join(real, name)),
    open: () => openSame(real, stats),
    hasMoved: async () => (await realpath(real)) !== real,
    close: async () => {},
  };
}

async function openSame(real: string, checked: FilePlace['stats']): Promise<OpenFile> {
  const descriptor = await pooledCalls.open(real, READ);
  try {
    const opened = await pooledCalls.stat(descriptor);
    if (opened.ino === checked.ino && opened.dev === checked.dev) return openFile(descriptor, pooledCalls);
    throw new ToolFailure('The file was replaced while it was being opened. Read it again.');
  } catch (thrown) {
    await pooledCalls.close(descriptor);
    throw thrown;
  }
}
