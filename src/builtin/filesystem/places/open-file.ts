import type { Stats } from 'node:fs';
import type { SystemCalls } from './system-calls.ts';

/** A file that is open for reading. */
export interface OpenFile extends AsyncDisposable {
  stats(): Stats | Promise<Stats>;
  /** Fills `bytes` from a position on, and returns how many bytes there were. */
  read(bytes: Buffer, position: number): number | Promise<number>;
}

/** Returns the file of a descriptor, and owns the descriptor from then on. */
export const openFile = (descriptor: number, calls: SystemCalls): OpenFile => ({
  stats: () => calls.stat(descriptor),
  read: (bytes, position) => calls.read(descriptor, bytes, position),
  [Symbol.asyncDispose]: async () => calls.close(descriptor),
});
