import { realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

export interface Homes {
  readonly cwd: string;
  /** Heddle's own folder of this user. */
  readonly home: string;
  readonly userHome: string;
}

/** The nearest folder around `cwd` with Heddle's or MCP's files, else the git root, else `cwd` itself. */
export async function findProjectFolder({ cwd, home, userHome }: Homes): Promise<string> {
  const start = resolve(cwd);
  const own = new Set([await real(home), await real(join(userHome, '.heddle'))]);

  // What a user keeps for all projects makes no project: neither of its folder nor of the one around it.
  async function marksProject(folder: string): Promise<boolean> {
    if (own.has(await real(folder))) return false;
    if ((await exists(join(folder, 'heddle.json'))) || (await exists(join(folder, '.mcp.json')))) return true;
    const dotFolder = join(folder, '.heddle');
    return (await isFolder(dotFolder)) && !own.has(await real(dotFolder));
  }

  const marked = await nearest(start, marksProject);
  return marked ?? (await nearest(start, (folder) => exists(join(folder, '.git')))) ?? start;
}

async function nearest(start: string, test: (folder: string) => Promise<boolean>): Promise<string | undefined> {
  for (let folder = start; ; folder = dirname(folder)) {
    if (await test(folder)) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

// Absent, forbidden, in a loop: for finding a project it all means "not there".
const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/** The path without symbolic links, as far as it exists: two names of one folder become one. */
export const real = (path: string): Promise<string> => realpath(path).catch(() => resolve(path));
