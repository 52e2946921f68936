import { readlink, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, sep } from 'node:path';
import { explainFileError, fileErrorCode, OutsideRoots } from './file-error.ts';
import { namePlace } from './named-place.ts';
import { pinRoot } from './pinned-place.ts';
import type { FilePlace } from './place.ts';
import type { Location, Roots } from './roots.ts';
import { directCalls, pooledCalls } from './system-calls.ts';

// The limit of the Linux kernel.
const MAX_LINKS = 40;

/**
 * Finds the file or directory at a path and checks that it is inside a root. Follows symbolic links whose targets are
 * inside a root. The caller closes the place.
 */
export async function findPlace(roots: Roots, written: string, signal: AbortSignal): Promise<FilePlace> {
  const start = roots.locate(written);
  try {
    const found = await resolveWithinRoots(roots, start, (location) => walk(roots, location, signal));
    return await canonicalPlace(roots, found);
  } catch (thrown) {
    throw explainFileError(thrown, { path: written, roots: roots.shown });
  }
}

/** Takes steps until one does not end at a symbolic link. A step returns the path that the link leads to. */
export async function resolveWithinRoots<T>(
  roots: Roots,
  start: Location,
  step: (location: Location) => Promise<T | string>,
): Promise<T> {
  let location = start;
  for (let links = 0; links <= MAX_LINKS; links++) {
    const found = await step(location);
    if (typeof found !== 'string') return found;
    const next = roots.find(found);
    if (!next) throw new OutsideRoots();
    location = next;
  }
  throw Object.assign(new Error('Too many links.'), { code: 'ELOOP' });
}

/** Opens the directory at which a location begins. */
export function openStart(roots: Roots, { root }: Location): Promise<FilePlace> {
  return roots.canPin ? pinRoot(root, roots.isLocal ? directCalls : pooledCalls) : namePlace(root);
}

/**
 * Resolves a path name by name. On Linux each name is relative to the handle of its parent, so the checked file is the
 * opened one. Returns the place at the end of the names. At a symbolic link it returns the path to resolve instead.
 */
async function walk(roots: Roots, location: Location, signal: AbortSignal): Promise<FilePlace | string> {
  const { names } = location;
  let place = await openStart(roots, location);
  const closing: Promise<void>[] = []; // The next name is looked up meanwhile.
  try {
    for (const [index, name] of names.entries()) {
      const parent = place;
      try {
        signal.throwIfAborted();
        if (name === '..') return pathAbove(parent, names.slice(index));
        place = await parent.child(name);
        await refuseHidden(roots, place);
        if (place.stats.isSymbolicLink()) {
          closing.push(place.close());
          return await linkTarget(parent, names.slice(index));
        }
      } finally {
        closing.push(parent.close());
      }
    }
    return place;
  } finally {
    await Promise.all(closing);
  }
}

/** Closes a place that is hidden, and throws. */
export async function refuseHidden(roots: Roots, place: FilePlace): Promise<void> {
  if (!roots.hidesPlace(place.stats)) return;
  await place.close();
  throw new OutsideRoots();
}

/** Returns the path that a link leads to, with the names after it. `name` is the link, an entry of `parent`. */
export async function linkTarget(parent: FilePlace, [name = '', ...rest]: readonly string[]): Promise<string> {
  const target = await targetOf(parent, name);
  return pathFrom(isAbsolute(target) ? sep : parent.real, [...target.split(sep), ...rest]);
}

/** Returns the path of names that begin with `..`, from a directory. */
export function pathAbove(directory: FilePlace, names: readonly string[]): string {
  if (!directory.stats.isDirectory()) throw Object.assign(new Error('Not a directory.'), { code: 'ENOTDIR' });
  return pathFrom(directory.real, names);
}

/**
 * Joins names to a path without links. A `..` after a name stays: that name may be a link, and then the `..` leads above
 * its target.
 */
function pathFrom(real: string, names: readonly string[]): string {
  const [name, ...rest] = names.filter((one) => one !== '' && one !== '.');
  if (name === '..') return pathFrom(dirname(real), rest);
  return name === undefined ? real : [real === sep ? '' : real, name, ...rest].join(sep);
}

/** Reads the target of a link. It may be stale; that is safe, because the next walk checks it from a root again. */
async function targetOf(parent: FilePlace, name: string): Promise<string> {
  try {
    return await readlink(join(parent.address, name));
  } catch (thrown) {
    if (fileErrorCode(thrown) === 'EINVAL') return name; // No longer a link, so the next walk resolves the same name.
    throw thrown;
  }
}

/**
 * Without handles, returns the place by its canonical name: some file systems ignore case and Unicode form, and a
 * hidden path has to be recognized. A parent that is swapped during the lookup is not noticed.
 */
export async function canonicalPlace(roots: Roots, place: FilePlace): Promise<FilePlace> {
  if (roots.canPin) return place;
  const real = await realpath(place.real);
  if (real === place.real) return place;
  if (!roots.find(real)) throw new OutsideRoots();
  return namePlace(real);
}
