import { join } from 'node:path';
import type { SourceFile } from '../config.ts';

import { type FileReading, readConfigFile, sourceFile } from '../read/read-file.ts';
import { listFolder, type SourceFolder } from './source-folders.ts';

/** The files of an organisation on this machine. */
export interface ManagedFiles {
  readonly folder: string;
  readonly servers: FileReading;
  readonly settings: FileReading;
  readonly policies: SourceFolder;
  readonly workflows: SourceFolder;
}

/** Returns the system folder of managed files, in which only an administrator can write. */
export function defaultSystemFolder(platform: NodeJS.Platform = process.platform): string {
  return platform === 'darwin' ? '/Library/Application Support/Heddle' : '/etc/heddle';
}

/** Reads the managed files of the system folder; without any, those of the folder in `HEDDLE_MANAGED_DIR`. */
export async function findManaged(systemFolder: string, namedFolder: string | undefined): Promise<ManagedFiles> {
  const system = await readFolder(systemFolder);
  return isManaged(system) || !namedFolder ? system : readFolder(namedFolder);
}

async function readFolder(folder: string): Promise<ManagedFiles> {
  const read = (name: string) => readConfigFile(join(folder, name));
  const [servers, settings, policies, workflows] = await Promise.all([
    read('managed-mcp.json'),
    read('managed-settings.json'),
    listFolder('policies', join(folder, 'policies'), 'enterprise'),
    listFolder('workflows', join(folder, 'workflows'), 'enterprise'),
  ]);
  return { folder, servers, settings, policies, workflows };
}

/** Tells whether a managed file exists, valid or not. */
export function isManaged({ servers, settings, policies, workflows }: ManagedFiles): boolean {
  return (
    [servers, settings].some(({ state }) => state !== 'absent') ||
    [policies, workflows].some(({ files }) => files.length > 0)
  );
}

export function managedSources({ folder, servers, settings }: ManagedFiles): readonly SourceFile[] {
  return [
    sourceFile(join(folder, 'managed-mcp.json'), 'enterprise', servers),
    sourceFile(join(folder, 'managed-settings.json'), 'enterprise', settings),
  ];
}
