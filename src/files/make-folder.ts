import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Creates a folder and its missing parents. Throws the error of the file system. The option `recursive` of Node never
 * returns below /proc, where no folder can be created, nor below a symbolic link to nothing.
 */
export function makeFolder(folder: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = resolve(folder); !isFolder(at) && at !== dirname(at); at = dirname(at)) missing.unshift(at);
  for (const one of missing) makeOne(one, mode);
}

function makeOne(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    // Another process may have created it since.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(folder)) throw error;
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
