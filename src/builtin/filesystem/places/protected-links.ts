import { lstat, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { canonicalPath } from './canonical-path.ts';
import { fileIdentity } from './file-identity.ts';
import { isGitFolder, pathsNamedByGit, pathsNamedInConfig } from './git-folders.ts';
import { entriesIn, protectedPathsNear } from './protected-near.ts';
import { isSpelledInside, PROTECTED_FIRST_NAMES, protectedPathsFrom } from './protected-paths.ts';

// The configuration of git for a user, in the home folder.
const USER_GIT_FILES = ['.gitconfig', '.config/git/config'];

// Listing this many names takes as long as looking up each protected name.
const MAX_LISTED = 1000;

interface Surroundings {
  /** Files that are protected wherever they are. */
  readonly files: readonly string[];
  /** The real paths of the roots. Folders inside them are searched for links. */
  readonly roots: readonly string[];
}

/**
 * Tests whether a file is protected configuration by another name: it is in a git folder of any name, git includes it, or
 * a protected path is a link to it or to one of its folders. Such links are searched in its folder, in those above, and in
 * other folders of the roots.
 */
export async function isLinkedAsProtected(absolute: string, { files, roots }: Surroundings): Promise<boolean> {
  const folders = foldersOf(absolute);
  if ((await Promise.all(folders.map(isGitFolder))).includes(true)) return true;
  const [own, linked, near] = await Promise.all([
    Promise.all([absolute, ...folders].map(identityOf)),
    Promise.all(folders.map(protectedIn)),
    protectedPathsNear(folders, roots),
  ]);
  const identities = new Set(own);
  const isSame = async (path: string) => {
    const [real, identity] = await Promise.all([canonicalPath(path), identityOf(path)]);
    return isSpelledInside(absolute, [real]) || (identity !== undefined && identities.has(identity));
  };
  const paths = new Set([...linked.flat(), ...near]);
  const named = await namedByGit([...paths], folders);
  return (await Promise.all([...new Set([...paths, ...named, ...files])].map(isSame))).includes(true);
}

/** Returns the paths that repositories among protected paths name, and the configuration of the user in folders above. */
async function namedByGit(paths: readonly string[], folders: readonly string[]): Promise<readonly string[]> {
  const repositories = paths.filter((path) => basename(path).toLowerCase() === '.git');
  const workTrees = repositories.map((path) => dirname(path));
  const userFiles = folders.flatMap((folder) => USER_GIT_FILES.map((file) => join(folder, file)));
  const named = await Promise.all([
    ...repositories.map((path) => pathsNamedByGit(path)),
    pathsNamedInConfig(userFiles, workTrees),
  ]);
  return named.flat();
}

/** Lists the folders of a file, the nearest first. */
function foldersOf(absolute: string): readonly string[] {
  const folder = dirname(absolute);
  return folder === absolute ? [] : [folder, ...foldersOf(folder)];
}

/** Returns the protected paths in a folder, but those of which not even the first name exists. */
async function protectedIn(folder: string): Promise<readonly string[]> {
  const listed = await entriesIn(folder, MAX_LISTED);
  const isWhole = listed.length > 0 && listed.length < MAX_LISTED;
  const names = isWhole ? listed.map(({ name }) => name) : await existingIn(folder, PROTECTED_FIRST_NAMES);
  return names.flatMap((name) => protectedPathsFrom(name)).map((path) => join(folder, path));
}

/** Looks names up one by one, in a folder that is large or may not be listed. */
async function existingIn(folder: string, names: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    names.map((name) =>
      lstat(join(folder, name)).then(
        () => [name],
        () => [],
      ),
    ),
  );
  return found.flat();
}

const identityOf = (path: string): Promise<string | undefined> => stat(path).then(fileIdentity, () => undefined);
