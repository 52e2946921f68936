import { lstat, readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { canonicalPath } from './canonical-path.ts';
import { fileIdentity } from './file-identity.ts';
import { isProtected, PROTECTED_PATHS } from './protected-paths.ts';

const MAX_POINTER_BYTES = 4096 + 'gitdir: \n'.length;

/**
 * Tests whether a file is protected configuration by another name: a protected path in its folder, or in one above, is
 * a link to it or to one of its folders. `files` are protected wherever they are.
 */
export async function isLinkedAsProtected(absolute: string, files: readonly string[]): Promise<boolean> {
  const folders = foldersOf(absolute);
  const [own, linked] = await Promise.all([
    Promise.all([absolute, ...folders].map(identityOf)),
    Promise.all(folders.flatMap((folder) => [...protectedIn(folder), gitFolderOf(folder)])),
  ]);
  const identities = new Set(own);
  const isSame = async (path: string) => {
    const [real, identity] = await Promise.all([canonicalPath(path), identityOf(path)]);
    return isProtected(absolute, [real]) || (identity !== undefined && identities.has(identity));
  };
  const paths = [...linked.filter((path) => path !== undefined), ...files];
  return (await Promise.all(paths.map(isSame))).includes(true);
}

/** Lists the folders of a file, the nearest first. */
function foldersOf(absolute: string): readonly string[] {
  const folder = dirname(absolute);
  return folder === absolute ? [] : [folder, ...foldersOf(folder)];
}

/** Returns the protected paths in a folder, but those of which not even the first name exists. */
const protectedIn = (folder: string): readonly Promise<string | undefined>[] =>
  PROTECTED_PATHS.map(async (path) => {
    const [first = ''] = path.split('/');
    return lstat(join(folder, first)).then(
      () => join(folder, path),
      () => undefined,
    );
  });

/** Returns the folder that a `.git` file names, as in a worktree. */
async function gitFolderOf(folder: string): Promise<string | undefined> {
  const file = join(folder, '.git');
  const stats = await stat(file).catch(() => undefined);
  if (!stats?.isFile() || stats.size > MAX_POINTER_BYTES) return undefined;
  const text = await readFile(file, 'utf8').catch(() => '');
  const target = /^gitdir: (.+)$/m.exec(text)?.[1];
  return target && resolve(folder, target);
}

const identityOf = (path: string): Promise<string | undefined> => stat(path).then(fileIdentity, () => undefined);
