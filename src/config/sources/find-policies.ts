import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scope } from '../config.ts';
import { fileVersion, MISSING } from '../read/read-file.ts';
import { resolveLinks } from './project-folder.ts';

/** A folder of policy files. */
export interface PolicyFolder {
  readonly folder: string;
  readonly scope: Scope;
  readonly needsTrust: boolean;
  /** The version of the folder just before it was listed. It changes with the names in it. */
  readonly version: string;
  readonly files: readonly string[];
}

/** Lists the policy files of the project and of the user. Where both are one folder, it is the user's. */
export async function findPolicies(projectFolder: string, home: string): Promise<readonly PolicyFolder[]> {
  const project = join(projectFolder, '.heddle', 'policies');
  const user = join(home, 'policies');
  const own = await listPolicies(user, 'user');
  if ((await resolveLinks(project)) === (await resolveLinks(user))) return [own];
  return [await listPolicies(project, 'project'), own];
}

/** Returns the version of each folder, for the watch. */
export const watchedFolders = (folders: readonly PolicyFolder[]): ReadonlyMap<string, string> =>
  new Map(folders.map(({ folder, version }) => [folder, version]));

/** Lists the policy files of one folder by name. A folder that does not exist has none. */
export async function listPolicies(folder: string, scope: Scope): Promise<PolicyFolder> {
  const version = await stat(folder).then(fileVersion, () => MISSING);
  const names = version === MISSING ? [] : await readdir(folder).catch(() => []);
  const files = names.filter((name) => /^[^.].*\.(ya?ml|json)$/i.test(name)).toSorted();
  return {
    folder,
    scope,
    needsTrust: scope === 'project',
    version,
    files: files.map((name) => join(folder, name)),
  };
}
