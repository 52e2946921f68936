import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scope } from '../config.ts';
import { fileVersion, MISSING } from '../read/read-file.ts';
import { resolveLinks } from './project-folder.ts';

/** A folder whose files belong to the configuration. */
export interface SourceFolder {
  readonly folder: string;
  readonly scope: Scope;
  readonly needsTrust: boolean;
  /** The version of the folder just before it was listed. It changes with the names in it. */
  readonly version: string;
  readonly files: readonly string[];
}

/** The folders by their names, with the names of the files that count. */
const FILES = {
  policies: /^[^.].*\.(ya?ml|json)$/i,
  workflows: /^[^.].*(?<!\.d)\.(ya?ml|json|ts)$/i,
} as const;

type FolderName = keyof typeof FILES;

/** Lists the files of the project and of the user. Where both are one folder, it is the user's. */
export async function findFolders(
  name: FolderName,
  projectFolder: string,
  home: string,
): Promise<readonly SourceFolder[]> {
  const project = join(projectFolder, '.heddle', name);
  const user = join(home, name);
  const own = await listFolder(name, user, 'user');
  if ((await resolveLinks(project)) === (await resolveLinks(user))) return [own];
  return [await listFolder(name, project, 'project'), own];
}

/** Returns the version of each folder, for the watch. */
export const watchedFolders = (folders: readonly SourceFolder[]): ReadonlyMap<string, string> =>
  new Map(folders.map(({ folder, version }) => [folder, version]));

/** Lists the files of one folder by name. A folder that does not exist has none. */
export async function listFolder(name: FolderName, folder: string, scope: Scope): Promise<SourceFolder> {
  const version = await stat(folder).then(fileVersion, () => MISSING);
  const names = version === MISSING ? [] : await readdir(folder).catch(() => []);
  const files = names.filter((file) => FILES[name].test(file)).toSorted();
  return {
    folder,
    scope,
    needsTrust: scope === 'project',
    version,
    files: files.map((file) => join(folder, file)),
  };
}
