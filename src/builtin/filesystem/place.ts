import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

/**
 * A file or directory that was found inside a root. On Linux it stays that
 * very one until it is closed, whatever happens to its name meanwhile.
 */
export interface FilePlace {
  /** Its path without links when it was found. */
  readonly real: string;
  readonly stats: Stats;
  /** The path for system calls; messages use `real`. */
  readonly address: string;
  /** The entry of that name in this directory; a link is not followed. */
  child(name: string): Promise<FilePlace>;
  /** Opens the file for reading. The caller closes the handle. */
  open(): Promise<FileHandle>;
  close(): Promise<void>;
}
