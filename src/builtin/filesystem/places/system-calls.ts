import type { Stats } from 'node:fs';
import {
  close,
  closeSync,
  fstat,
  fstatSync,
  lstat,
  lstatSync,
  open,
  openSync,
  read,
  readlink,
  readlinkSync,
  readSync,
} from 'node:fs';
import { promisify } from 'node:util';

// Above it, copying the bytes takes longer than a turn of the thread pool.
const SMALL_BYTES = 64 * 1024;

/** The system calls of a lookup, by descriptor. */
export interface SystemCalls {
  open(path: string, flags: number): number | Promise<number>;
  stat(descriptor: number): Stats | Promise<Stats>;
  lstat(path: string): Stats | Promise<Stats>;
  readlink(path: string): string | Promise<string>;
  /** Fills `bytes` from a position on, and returns how many bytes there were. */
  read(descriptor: number, bytes: Buffer, position: number): number | Promise<number>;
  close(descriptor: number): void | Promise<void>;
}

const readPooled = promisify(read);

/** System calls in the thread pool. A slow file system delays only the calls that use it. */
export const pooledCalls: SystemCalls = {
  open: promisify(open),
  stat: promisify(fstat) as (descriptor: number) => Promise<Stats>,
  lstat: promisify(lstat) as (path: string) => Promise<Stats>,
  readlink: promisify(readlink) as (path: string) => Promise<string>,
  read: async (descriptor, bytes, position) =>
    (await readPooled(descriptor, bytes, 0, bytes.length, position)).bytesRead,
  close: promisify(close),
};

/**
 * System calls in this thread, for local disks. There each takes a few microseconds, and the way to the thread pool and
 * back takes about ten times as long.
 */
export const directCalls: SystemCalls = {
  open: openSync,
  stat: (descriptor) => fstatSync(descriptor),
  lstat: (path) => lstatSync(path),
  readlink: (path) => readlinkSync(path),
  read: (descriptor, bytes, position) =>
    bytes.length > SMALL_BYTES
      ? pooledCalls.read(descriptor, bytes, position)
      : readSync(descriptor, bytes, 0, bytes.length, position),
  close: closeSync,
};
