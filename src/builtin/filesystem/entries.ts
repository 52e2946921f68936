import type { Stats } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '../../core/call.ts';
import type { FilePlace } from './places/place.ts';
import type { Roots } from './places/roots.ts';

// All names of a directory are in memory while they are sorted. This limits their number.
const MAX_NAMES = 100_000;
// Entries that are looked up at the same time.
const AT_ONCE = 64;

type Entry = {
  readonly name: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
  readonly size: number;
  readonly modified: string | null;
  children?: readonly Json[];
};

interface ListOptions {
  /** Levels to show; 1 shows the directory itself. */
  readonly depth: number;
  readonly maxEntries: number;
  readonly maxNames?: number;
  /** Directories that are not listed. */
  readonly hides: (absolute: string) => boolean;
  readonly hidesPlace: Roots['hidesPlace'];
  readonly signal: AbortSignal;
}

/** The remaining limits of one listing, over all its directories. */
interface Budget {
  left: number;
  truncated: boolean;
  readonly maxNames: number;
  readonly hides: (absolute: string) => boolean;
  readonly hidesPlace: Roots['hidesPlace'];
  readonly signal: AbortSignal;
}

/** Lists a directory, sorted by name. A subdirectory that cannot be read has no `children`. */
export async function listEntries(place: FilePlace, options: ListOptions) {
  const { depth, maxEntries, maxNames = MAX_NAMES, hides, hidesPlace, signal } = options;
  const budget: Budget = { left: maxEntries, truncated: false, maxNames, hides, hidesPlace, signal };
  const entries: readonly Json[] = await list(place, depth, budget);
  return { entries, truncated: budget.truncated };
}

// Lists all entries of a directory before its subdirectories, so the limit cuts the deepest entries first.
async function list(place: FilePlace, depth: number, budget: Budget): Promise<Entry[]> {
  const entries: Entry[] = [];
  const names = await namesIn(place, budget);
  for (let at = 0; at < names.length; ) {
    if (budget.left === 0) {
      budget.truncated = true;
      break;
    }
    budget.signal.throwIfAborted();
    const batch = names.slice(at, at + Math.min(AT_ONCE, budget.left));
    const found = await Promise.all(batch.map((name) => describeEntry(place, name)));
    for (const entry of found) if (entry) entries.push(entry);
    budget.left -= found.filter(Boolean).length;
    at += batch.length;
  }
  if (depth > 1) {
    for (const entry of entries) if (entry.type === 'directory') await addChildren(place, entry, depth - 1, budget);
  }
  return entries;
}

/** Describes one entry; undefined if it was deleted since. */
async function describeEntry(place: FilePlace, name: string): Promise<Entry | undefined> {
  const stats = await unlessRefused(() => place.statsOf(name));
  return stats && { name, type: entryTypeOf(stats), size: stats.size, modified: timeOf(stats.mtimeMs) };
}

/** Returns a time of a file; null if it is outside the range of a date, which some file systems allow. */
export function timeOf(milliseconds: number): string | null {
  const time = new Date(Math.round(milliseconds));
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

async function addChildren(parent: FilePlace, entry: Entry, depth: number, budget: Budget): Promise<void> {
  if (budget.hides(join(parent.real, entry.name))) return;
  if (budget.left === 0) {
    budget.truncated = true;
    return;
  }
  const place = await unlessRefused(() => parent.child(entry.name));
  if (!place) return;
  try {
    // It may have become a link or a file since `lstat`.
    if (place.stats.isDirectory() && !budget.hidesPlace(place.stats)) entry.children = await list(place, depth, budget);
  } catch (thrown) {
    if (!isRefusal(thrown)) throw thrown;
  } finally {
    await place.close();
  }
}

async function namesIn(place: FilePlace, budget: Budget): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(place.address, { bufferSize: 1024 })) {
    budget.signal.throwIfAborted();
    if (names.length === budget.maxNames) {
      budget.truncated = true;
      break;
    }
    names.push(name);
  }
  return names.sort();
}

/** Returns the type of an entry, as listings show it. */
export function entryTypeOf(stats: Stats): Entry['type'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'symlink' : 'other';
}

/** Returns undefined for an entry that is gone or may not be read. */
export async function unlessRefused<T>(operation: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await operation();
  } catch (thrown) {
    if (isRefusal(thrown)) return undefined;
    throw thrown;
  }
}

const REFUSALS: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'];
const isRefusal = (thrown: unknown) => thrown instanceof Error && 'code' in thrown && REFUSALS.includes(thrown.code);
