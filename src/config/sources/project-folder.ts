import { realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/** The folders that decide which files are read. */
export interface Homes {
  readonly cwd: string;
  /** Heddle's folder of this user. */
  readonly home: string;
  /** Undefined if the environment has no HOME. */
  readonly userHome: string | undefined;
}

/** Finds the nearest parent of `cwd` with `heddle.json`, `.mcp.json` or `.heddle/`, else the git root, else `cwd`. */
export async function findProjectFolder({ cwd, home, userHome }: Homes): Promise<string> {
  const start = resolve(cwd);
  const folders = userHome === undefined ? [home] : [home, join(userHome, '.heddle')];
  const own = new Set(await Promise.all(folders.map(resolveLinks)));

  // The user's home folder of Heddle makes neither itself nor its parent a project.
  async function marksProject(folder: string): Promise<boolean> {
    if (own.has(await resolveLinks(folder))) return false;
    if ((await exists(join(folder, 'heddle.json'))) || (await exists(join(folder, '.mcp.json')))) return true;
    const dotFolder = join(folder, '.heddle');
    return (await isFolder(dotFolder)) && !own.has(await resolveLinks(dotFolder));
  }

  const marked = await nearest(start, marksProject);
  return marked ?? (await nearest(start, (folder) => exists(join(folder, '.git')))) ?? start;
}

/** Tests whether a folder still is a project of its own: it exists, and no parent folder has become the project. */
export async function isProjectFolder(folder: string, homes: Omit<Homes, 'cwd'>): Promise<boolean> {
  return (await isFolder(folder)) && (await findProjectFolder({ ...homes, cwd: folder })) === resolve(folder);
}

async function nearest(start: string, test: (folder: string) => Promise<boolean>): Promise<string | undefined> {
  for (let folder = start; ; folder = dirname(folder)) {
    if (await test(folder)) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/** Tests whether a path exists. Any error, such as a missing permission or a loop of links, counts as "no". */
export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/** Resolves symbolic links, so that two names of one folder become equal. A missing path is only made absolute. */
export const resolveLinks = (path: string): Promise<string> => realpath(path).catch(() => resolve(path));
