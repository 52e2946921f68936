import { join } from 'node:path';
import type { SourceFile } from '../config.ts';
import { type FileReading, readConfigFile, sourceFile } from '../read/read-file.ts';

/** What an organisation has put on this machine. */
export interface ManagedFiles {
  readonly folder: string;
  readonly servers: FileReading;
  readonly settings: FileReading;
}

/** Where only an administrator can write. */
export function defaultSystemFolder(platform: NodeJS.Platform = process.platform): string {
  return platform === 'darwin' ? '/Library/Application Support/Heddle' : '/etc/heddle';
}

/** Looks for managed files; the folder that the environment names counts only where the system has none. */
export async function findManaged(systemFolder: string, namedFolder: string | undefined): Promise<ManagedFiles> {
  const system = await readFolder(systemFolder);
  return isManaged(system) || !namedFolder ? system : readFolder(namedFolder);
}

async function readFolder(folder: string): Promise<ManagedFiles> {
  const read = (name: string) => readConfigFile(join(folder, name));
  const [servers, settings] = await Promise.all([read('managed-mcp.json'), read('managed-settings.json')]);
  return { folder, servers, settings };
}

/** Whether there is anything managed, be it broken. */
export function isManaged({ servers, settings }: ManagedFiles): boolean {
  return servers.state !== 'absent' || settings.state !== 'absent';
}

export function managedSources({ folder, servers, settings }: ManagedFiles): readonly SourceFile[] {
  return [
    sourceFile(join(folder, 'managed-mcp.json'), 'enterprise', servers),
    sourceFile(join(folder, 'managed-settings.json'), 'enterprise', settings),
  ];
}
