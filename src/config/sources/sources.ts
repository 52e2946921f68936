import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Scope } from '../config.ts';
import type { JsonPath } from '../document.ts';
import { type Homes, resolveLinks } from './project-folder.ts';

/** A file that may list servers or settings. */
export interface Source {
  readonly file: string;
  readonly scope: Scope;
  /** The folder that its relative paths are resolved against. */
  readonly folder: string;
  /** True for a file that other programs use too: unknown keys are not errors. */
  readonly foreign: boolean;
  /** The path of the servers in the settings of another program. */
  readonly serversAt?: JsonPath;
  /** True for a file of the project's folder. */
  readonly needsTrust?: boolean;
  /** True for the file of `--config`: its absence is a problem. */
  readonly explicit?: boolean;
}

/** Returns the source for the file of `--config`. */
export function explicitSource(cwd: string, file: string): Source {
  const path = resolve(cwd, file);
  const foreign = basename(path) === '.mcp.json' || basename(path) === 'mcp.json';
  return { file: path, scope: 'config', explicit: true, foreign, folder: dirname(path) };
}

/** Lists all files of the project and the user, highest precedence first. */
export async function standardSources(homes: Homes, projectFolder: string): Promise<readonly Source[]> {
  const user = userSources(homes, projectFolder);
  const home = resolve(homes.cwd, homes.home);
  // Heddle's home folder is no project.
  if ((await resolveLinks(projectFolder)) === (await resolveLinks(home))) return user;
  // In the user's home, some files are both of the project and of the user. They count as the user's.
  const own = new Set(await Promise.all(user.map(({ file }) => realFile(file))));
  const project = projectSources(homes, projectFolder);
  const paths = await Promise.all(project.map(({ file }) => realFile(file)));
  return [...project.filter(({ scope, needsTrust }, index) => !needsTrust || !own.has(paths[index] ?? scope)), ...user];
}

const realFile = async (file: string): Promise<string> => join(await resolveLinks(dirname(file)), basename(file));

const SERVERS: JsonPath = ['mcpServers'];

function projectSources({ userHome }: Homes, folder: string): readonly Source[] {
  const inside = (scope: Scope, path: string) => ({ file: join(folder, path), scope, folder, needsTrust: true });
  const claude = (home: string): Source => ({
    ...{ file: join(home, '.claude.json'), scope: 'local', folder, foreign: true },
    serversAt: ['projects', folder, 'mcpServers'],
  });
  return [
    { ...inside('local', '.heddle/local.json'), foreign: false },
    ...(userHome === undefined ? [] : [claude(userHome)]),
    { ...inside('local', '.claude/settings.local.json'), foreign: true, serversAt: SERVERS },
    { ...inside('project', 'heddle.json'), foreign: false },
    { ...inside('project', '.mcp.json'), foreign: true },
    { ...inside('project', '.heddle/mcp.json'), foreign: true },
    { ...inside('project', '.claude/settings.json'), foreign: true, serversAt: SERVERS },
  ];
}

function userSources({ cwd, home, userHome }: Homes, folder: string): readonly Source[] {
  const own = (name: string) => ({ file: join(resolve(cwd, home), name), scope: 'user' as const, folder });
  const ofHeddle = [
    { ...own('heddle.json'), foreign: false },
    { ...own('mcp.json'), foreign: true },
  ];
  if (userHome === undefined) return ofHeddle;
  const claude = (name: string) => ({ file: join(userHome, name), scope: 'user' as const, folder, foreign: true });
  return [
    ...ofHeddle,
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

/** Lists the plugins in the plugin folders of the project and the user. */
export async function findPlugins(projectFolder: string, home: string): Promise<readonly PluginPath[]> {
  const project = join(projectFolder, '.heddle', 'plugins');
  const user = join(home, 'plugins');
  if ((await resolveLinks(project)) === (await resolveLinks(user))) return pluginsIn(user, false);
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
