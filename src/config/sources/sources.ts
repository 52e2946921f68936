import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Scope } from '../config.ts';
import type { JsonPath } from '../read/parse-document.ts';
import { type Homes, real } from './project-folder.ts';

/** A file that may say something. */
export interface Source {
  readonly file: string;
  readonly scope: Scope;
  /** Folder that relative paths in it start from. */
  readonly folder: string;
  /** Shared with other programs: what we do not know there is theirs. */
  readonly foreign: boolean;
  /** In the settings of another program, the one thing that is of interest. */
  readonly serversAt?: JsonPath;
  /** It came with the project's folder. */
  readonly needsTrust?: boolean;
  /** Somebody asked for this very file, so its absence is a problem. */
  readonly asked?: boolean;
}

/** The one file that was asked for. */
export function askedSource(cwd: string, file: string): Source {
  const path = resolve(cwd, file);
  const foreign = basename(path) === '.mcp.json' || basename(path) === 'mcp.json';
  return { file: path, scope: 'config', asked: true, foreign, folder: dirname(path) };
}

/** All files of the project and the user, in order of precedence. */
export async function standardSources(homes: Homes, projectFolder: string): Promise<readonly Source[]> {
  const user = userSources(homes, projectFolder);
  const home = resolve(homes.cwd, homes.home);
  // Standing in Heddle's own folder makes its files no project's.
  if ((await real(projectFolder)) === (await real(home))) return user;
  // Standing in the user's folder, some files are both; they are the user's then.
  const own = new Set(await Promise.all(user.map(({ file }) => realFile(file))));
  const project = projectSources(homes, projectFolder);
  const paths = await Promise.all(project.map(({ file }) => realFile(file)));
  return [...project.filter(({ scope, needsTrust }, index) => !needsTrust || !own.has(paths[index] ?? scope)), ...user];
}

const realFile = async (file: string): Promise<string> => join(await real(dirname(file)), basename(file));

const SERVERS: JsonPath = ['mcpServers'];

function projectSources({ userHome }: Homes, folder: string): readonly Source[] {
  const inside = (scope: Scope, path: string) => ({ file: join(folder, path), scope, folder, needsTrust: true });
  const claude = { file: join(userHome, '.claude.json'), scope: 'local' as const, folder, foreign: true };
  return [
    { ...inside('local', '.heddle/local.json'), foreign: false },
    { ...claude, serversAt: ['projects', folder, 'mcpServers'] },
    { ...inside('local', '.claude/settings.local.json'), foreign: true, serversAt: SERVERS },
    { ...inside('project', 'heddle.json'), foreign: false },
    { ...inside('project', '.mcp.json'), foreign: true },
    { ...inside('project', '.heddle/mcp.json'), foreign: true },
    { ...inside('project', '.claude/settings.json'), foreign: true, serversAt: SERVERS },
  ];
}

function userSources({ cwd, home, userHome }: Homes, folder: string): readonly Source[] {
  const own = (name: string) => ({ file: join(resolve(cwd, home), name), scope: 'user' as const, folder });
  const claude = (name: string) => ({ file: join(userHome, name), scope: 'user' as const, folder, foreign: true });
  return [
    { ...own('heddle.json'), foreign: false },
    { ...own('mcp.json'), foreign: true },
    claude('.claude/mcp.json'),
    { ...claude('.claude.json'), serversAt: SERVERS },
    { ...claude('.claude/settings.json'), serversAt: SERVERS },
  ];
}

/** A plugin: a folder with a file of servers, or a bundle. */
export interface PluginPath {
  readonly path: string;
  readonly kind: 'folder' | 'bundle';
  readonly needsTrust: boolean;
}

/** What lies in the plugin folders of the project and the user. */
export async function findPlugins(projectFolder: string, home: string): Promise<readonly PluginPath[]> {
  const project = join(projectFolder, '.heddle', 'plugins');
  const user = join(home, 'plugins');
  if ((await real(project)) === (await real(user))) return pluginsIn(user, false);
  return [...(await pluginsIn(project, true)), ...(await pluginsIn(user, false))];
}

async function pluginsIn(folder: string, needsTrust: boolean): Promise<readonly PluginPath[]> {
  const found = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return found
    .flatMap((item): PluginPath[] => {
      const path = join(folder, item.name);
      if (item.isDirectory()) return [{ path, kind: 'folder', needsTrust }];
      return item.name.endsWith('.mcpb') ? [{ path, kind: 'bundle', needsTrust }] : [];
    })
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
