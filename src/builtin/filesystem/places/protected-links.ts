import { lstat, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { canonicalPath, targetFrom } from './canonical-path.ts';
import { fileIdentity } from './file-identity.ts';
import { protectedPathsNear } from './protected-near.ts';
import { isProtected, PROTECTED_PATHS } from './protected-paths.ts';

const MAX_POINTER_BYTES = 4096 + 'gitdir: \n'.length;

interface Surroundings {
  /** Files that are protected wherever they are. */
  readonly files: readonly string[];
  /** The real paths of the roots. Folders inside them are searched for links. */
  readonly roots: readonly string[];
}

/**
 * Tests whether a file is protected configuration by another name: a protected path in its folder, in one above, or in
 * another folder of the roots is a link to it or to one of its folders.
 */
export async function isLinkedAsProtected(absolute: string, { files, roots }: Surroundings): Promise<boolean> {
  const folders = foldersOf(absolute);
  const [own, linked, near] = await Promise.all([
    Promise.all([absolute, ...folders].map(identityOf)),
    Promise.all(folders.flatMap((folder) => [...protectedIn(folder), gitFolderOf(folder)])),
    protectedPathsNear(folders, roots),
  ]);
  const identities = new Set(own);
  const isSame = async (path: string) => {
    const [real, identity] = await Promise.all([canonicalPath(path), identityOf(path)]);
    return isProtected(absolute, [real]) || (identity !== undefined && identities.has(identity));
  };
  const paths = [...linked.filter((path) => path !== undefined), ...near, ...files];
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
  return target && targetFrom(folder, target);
}

const identityOf = (path: string): Promise<string | undefined> => stat(path).then(fileIdentity, () => undefined);
