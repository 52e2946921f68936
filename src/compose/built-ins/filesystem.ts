import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, parse as parsePath, relative, resolve, sep } from 'node:path';
import type { Config } from '../../config/config.ts';
import { VERSION } from '../../core/version.ts';
import { connectInMemory } from '../../upstream/transports/connect-in-memory.ts';
import { type BuiltIn, type BuiltInParts, builtInServer } from './built-in.ts';

const NAME = 'filesystem';

/** Returns the built-in server of the file tools. */
export function builtInFilesystem({ config, home, storeLocation, env, userHome = homedir() }: BuiltInParts): BuiltIn {
  return {
    name: NAME,
    configOf(config) {
      const { enabled, ...settings } = config.settings.builtins.filesystem;
      if (!enabled || isTooWide(config, userHome)) return undefined;
      const description = `Files below ${settings.allowedPaths.join(', ')}`;
      return builtInServer({ name: NAME, description, revision: { version: VERSION, ...settings } });
    },
    connect: connectInMemory(async (transport) => {
      const { allowedPaths: roots, enabled: _, ...settings } = config().settings.builtins.filesystem;
      const { serveFilesystem } = await import('../../builtin/filesystem/serve-filesystem.ts');
      const neverWritten = async () => {
        const { hostFiles } = await import('../../config/hosts/hosts.ts');
        const { projectFolder } = config();
        const hosts = hostFiles({ platform: process.platform, env, userHome, projectFolder });
        return [...filesInUse(config()), ...hosts.map(({ file }) => file)].filter((file) => isAbsolute(file));
      };
      await serveFilesystem(transport, {
        ...settings,
        roots,
        hidden: [home, ...storeFiles(storeLocation)],
        neverWritten,
      });
    }),
    close: async () => {},
  };
}

/** Lists the files and folders that a configuration was read from. */
const filesInUse = ({ files, watched }: Config): readonly string[] => [
  ...files.map(({ file }) => file),
  ...(watched?.keys() ?? []),
];

/** Lists the files of a store. SQLite has up to four. */
function storeFiles(location: string): readonly string[] {
  if (location === ':memory:' || location.includes('://')) return [];
  return ['', '-wal', '-shm', '-journal'].map((end) => resolve(location) + end);
}

/** Returns true if the project folder has the user's home folder in it, or is `/`, and no other path is configured. */
function isTooWide({ projectFolder, settings }: Config, userHome: string): boolean {
  if (settings.builtins.filesystem.allowedPaths.some((path) => path !== projectFolder)) return false;
  const project = realOf(projectFolder);
  const below = relative(project, realOf(userHome));
  const isAbove = below !== '..' && !below.startsWith(`..${sep}`) && !isAbsolute(below);
  return isAbove || project === parsePath(project).root;
}

/** Resolves symbolic links. A missing path is only made absolute. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
