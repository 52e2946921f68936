import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { isInside, isKernelPath } from './is-inside.ts';
import { protectedPathsFrom } from './protected-paths.ts';

// A write takes some milliseconds. Reading this many directories and names takes about as long.
const MAX_FOLDERS = 256;
const MAX_NAMES = 10_000;
// Levels below a folder of the file.
const MAX_LEVELS = 3;
const AT_ONCE = 16;
// Hosts read no configuration there, and it would use up the limits.
const SKIPPED = 'node_modules';

/**
 * Finds protected paths in folders inside the roots: in the given ones, then in their subfolders, level by level. Ends at
 * a limit, so in a large tree a far folder is not searched.
 */
export async function protectedPathsNear(
  folders: readonly string[],
  roots: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  const known = new Set(folders.filter((folder) => roots.some((root) => isInside(root, folder))));
  const left = { folders: MAX_FOLDERS, names: MAX_NAMES };
  let level: readonly string[] = [...known];
  for (let depth = 0; depth <= MAX_LEVELS; depth++) {
    const below: string[] = [];
    for (const entry of await entriesOf(level, left)) {
      const protectedPaths = protectedPathsFrom(entry.name);
      found.push(...protectedPaths.map((path) => join(entry.parentPath, path)));
      const path = join(entry.parentPath, entry.name);
      const isSearched = entry.isDirectory() && entry.name !== SKIPPED && !protectedPaths.includes(entry.name);
      if (isSearched && !known.has(path) && !isKernelPath(path)) below.push(path);
      known.add(path);
    }
    level = below;
  }
  return found;
}

/** Lists folders, some at a time, until a limit is reached. */
async function entriesOf(
  folders: readonly string[],
  left: { folders: number; names: number },
): Promise<readonly Dirent[]> {
  const entries: Dirent[] = [];
  for (let at = 0; at < folders.length && left.folders > 0 && left.names > 0; at += AT_ONCE) {
    const batch = folders.slice(at, at + Math.min(AT_ONCE, left.folders));
    const found = (await Promise.all(batch.map((folder) => entriesIn(folder, left.names)))).flat();
    left.folders -= batch.length;
    left.names -= found.length;
    entries.push(...found);
  }
  return entries;
}

/** Lists a folder up to a limit; nothing if it cannot be read. */
export async function entriesIn(folder: string, limit: number): Promise<readonly Dirent[]> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(folder, { bufferSize: 1024 })) {
      if (entries.push(entry) >= limit) break;
    }
  } catch {
    // It is gone, or may not be read: no host reads configuration in it as this user either.
  }
  return entries;
}
