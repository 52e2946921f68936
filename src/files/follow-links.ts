import { readlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { HeddleError } from '../core/errors.ts';

const MAX_LINKS = 40;

/**
 * Returns the absolute path at the end of a chain of symbolic links, so that replacing a file keeps the links to it.
 * Not `realpath`: the end of the chain need not exist yet. Throws CONFIG_INVALID after 40 links.
 */
export async function followLinks(file: string): Promise<string> {
  let target = resolve(file);
  for (let links = 0; links < MAX_LINKS; links++) {
    const next = await readlink(target).catch(() => undefined);
    if (next === undefined) return target;
    target = resolve(dirname(target), next);
  }
  throw new HeddleError('CONFIG_INVALID', `${file} is a symbolic link that never ends at a file.`, {
    fix: 'Remove the link.',
  });
}
