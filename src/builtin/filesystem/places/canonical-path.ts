import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';

// The limit of the Linux kernel.
const MAX_LINKS = 40;

/** Returns the path of a link's target. A `..` in it stays, because the name before it may be a link. */
export const targetFrom = (folder: string, target: string): string =>
  isAbsolute(target) ? target : `${folder}/${target}`;

/** Resolves all symbolic links of an absolute path, also if its end or the target of a link does not exist. */
export async function canonicalPath(path: string, links = MAX_LINKS): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined || dirname(path) === path) return real ?? path;
  const parent = await canonicalPath(dirname(path), links);
  const here = join(parent, basename(path));
  const target = links > 0 ? await readlink(here).catch(() => undefined) : undefined;
  return target === undefined ? here : canonicalPath(targetFrom(parent, target), links - 1);
}
