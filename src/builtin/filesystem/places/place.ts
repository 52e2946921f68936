import type { Stats } from 'node:fs';
import type { OpenFile } from './open-file.ts';

/**
 * A file or directory inside a root. On Linux it is pinned by a handle until `close`, so a renamed or replaced path
 * does not change it.
 */
export interface FilePlace {
  /** The path without symbolic links, at the time of the lookup. */
  readonly real: string;
  readonly stats: Stats;
  /** The path for system calls; messages use `real`. */
  readonly address: string;
  /** Finds an entry of this directory by name. Does not follow a symbolic link. */
  child(name: string): Promise<FilePlace>;
  /** Returns the stats of an entry of this directory. Does not follow a symbolic link. */
  statsOf(name: string): Stats | Promise<Stats>;
  /** Opens the file for reading. The caller closes it. */
  open(): Promise<OpenFile>;
  /** Returns true if the place is no longer at `real`. */
  hasMoved(): Promise<boolean>;
  close(): Promise<void>;
}
