import { readlink, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { quote, ToolFailure } from '../tool-failure.ts';
import { namePlace } from './named-place.ts';
import { pinRoot } from './pinned-place.ts';
import type { FilePlace } from './place.ts';
import type { Location, Roots } from './roots.ts';

// The limit of the Linux kernel.
const MAX_LINKS = 40;

/**
 * Finds the file or directory at a path and checks that it is inside a root. Follows symbolic links whose targets are
 * inside a root. The caller closes the place.
 */
export async function findPlace(roots: Roots, written: string, signal: AbortSignal): Promise<FilePlace> {
  const start = roots.locate(written);
  try {
    return roots.canPin ? await findByHandle(roots, start, signal) : await findByName(roots, start, signal);
  } catch (thrown) {
    throw explainFileError(thrown, written, roots.shown);
  }
}

/** Resolves a path name by name, each relative to the handle of its parent, so the checked file is the opened one. */
async function findByHandle(roots: Roots, start: Location, signal: AbortSignal): Promise<FilePlace> {
  let location = start;
  for (let links = 0; links <= MAX_LINKS; links++) {
    const found = await walk(location, signal);
    if (typeof found !== 'string') return found;
    const next = roots.find(found);
    if (!next) throw new OutsideRoots();
    location = next;
  }
  throw Object.assign(new Error('Too many links.'), { code: 'ELOOP' });
}

/** Returns the place at the end of the names. At a symbolic link it returns the path to resolve instead. */
async function walk({ root, names }: Location, signal: AbortSignal): Promise<FilePlace | string> {
  let place = await pinRoot(root);
  for (const [index, name] of names.entries()) {
    const parent = place;
    try {
      signal.throwIfAborted();
      place = await parent.child(name);
      if (place.stats.isSymbolicLink()) {
        await place.close();
        return resolve(parent.real, await targetOf(parent, name), ...names.slice(index + 1));
      }
    } finally {
      await parent.close();
    }
  }
  return place;
}

/** Reads the target of a link. It may be stale; that is safe, because the next walk checks it from a root again. */
async function targetOf(parent: FilePlace, name: string): Promise<string> {
  try {
    return await readlink(join(parent.address, name));
  } catch (thrown) {
    if (codeOf(thrown) === 'EINVAL') return name; // No longer a link, so the next walk resolves the same name.
    throw thrown;
  }
}

/** Finds a place without directory handles. A parent that is swapped during the lookup is not noticed. */
async function findByName(roots: Roots, { root, names }: Location, signal: AbortSignal): Promise<FilePlace> {
  const real = await realpath(join(root, ...names));
  signal.throwIfAborted();
  if (!roots.find(real)) throw new OutsideRoots();
  return namePlace(real);
}

/** Thrown for a symbolic link whose target is outside the roots. */
class OutsideRoots extends Error {}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist. List the directory above it to see what there is',
  ENOTDIR: 'does not exist: a part of the path before its end is not a directory. List that directory first',
  EACCES: 'may not be read by this server. Choose another one, or have its permissions changed',
  EPERM: 'may not be read by this server. Choose another one, or have its permissions changed',
  ELOOP: 'goes through too many symbolic links, or in a circle. Name the file itself',
  ENAMETOOLONG: 'is too long for a path. Shorten it',
};

/** Converts a file system error to a `ToolFailure` with a message for the model. Returns other errors unchanged. */
export function explainFileError(thrown: unknown, written: string, roots: string): unknown {
  const path = quote(written);
  if (thrown instanceof OutsideRoots) {
    const reason = 'is a symbolic link, or goes through one, that leads outside the allowed roots';
    return new ToolFailure(`${path} ${reason}. Use a path that stays inside: ${roots}.`);
  }
  const reason = REASONS[codeOf(thrown) ?? ''];
  return reason ? new ToolFailure(`${path} ${reason}. Allowed roots: ${roots}.`, { cause: thrown }) : thrown;
}

function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}
