import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { isInside, isKernelPath } from './is-inside.ts';
import { isProtected, protectedPathsFrom } from './protected-paths.ts';

// A write takes some milliseconds. Reading this many directories and names takes about as long.
const MAX_FOLDERS = 512;
const MAX_NAMES = 10_000;
const AT_ONCE = 16;
// Hosts read no configuration there, and it would use up the limits.
const SKIPPED = 'node_modules';

/**
 * Finds protected paths in the folders inside the roots: in the given ones, then in their subfolders, level by level.
 * Ends at a limit, so in a large tree a far folder is not searched.
 */
export async function protectedPathsNear(
  folders: readonly string[],
  roots: readonly string[],
): Promise<readonly string[]> {
  const queue = folders.filter((folder) => roots.some((root) => isInside(root, folder)));
  const known = new Set(queue);
  const found: string[] = [];
  let namesLeft = MAX_NAMES;
  for (let at = 0; at < Math.min(queue.length, MAX_FOLDERS) && namesLeft > 0; ) {
    const limit = namesLeft;
    const batch = queue.slice(at, at + AT_ONCE);
    at += batch.length;
    const entries = (await Promise.all(batch.map((folder) => entriesIn(folder, limit)))).flat();
    namesLeft -= entries.length;
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name);
      found.push(...protectedPathsFrom(entry.name).map((protectedPath) => join(entry.parentPath, protectedPath)));
      if (!entry.isDirectory() || known.has(path) || !mayHoldLinks(entry.name, path)) continue;
      known.add(path);
      queue.push(path);
    }
  }
  return found;
}

const mayHoldLinks = (name: string, path: string) => name !== SKIPPED && !isKernelPath(path) && !isProtected(path);

/** Lists a folder up to a limit; nothing if it cannot be read. */
async function entriesIn(folder: string, limit: number): Promise<readonly Dirent[]> {
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
