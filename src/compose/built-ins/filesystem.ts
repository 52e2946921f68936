import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, parse as parsePath, relative, resolve, sep } from 'node:path';
import type { Config, ServerConfig } from '../../config/config.ts';
import { VERSION } from '../../core/version.ts';
import { userHomeOf } from '../../files/home-folder.ts';
import { connectInMemory } from '../../upstream/transports/connect-in-memory.ts';
import { type BuiltIn, type BuiltInParts, builtInServer } from './built-in.ts';

const NAME = 'filesystem';

/** Returns the built-in server of the file tools. */
export function builtInFilesystem({ config, home, storeLocation, env, userHome }: BuiltInParts): BuiltIn {
  // The user of the process keeps the protection, even if a program passes another HOME.
  const userHomes = [...new Set([userHome ?? userHomeOf(env) ?? homedir(), homedir()])];
  return {
    name: NAME,
    configOf(config) {
      const { enabled, ...settings } = config.settings.builtins.filesystem;
      if (!enabled) return undefined;
      const description = `Files below ${settings.allowedPaths.join(', ')}`;
      const server = builtInServer({ name: NAME, description, revision: { version: VERSION, ...settings } });
      return userHomes.some((one) => isTooWide(config, one)) ? withoutFiles(server, config) : server;
    },
    connect: connectInMemory(async (transport) => {
      const { allowedPaths: roots, enabled: _, ...settings } = config().settings.builtins.filesystem;
      const { serveFilesystem } = await import('../../builtin/filesystem/serve-filesystem.ts');
      const neverWritten = async () => {
        const { hostFiles } = await import('../../config/hosts/hosts.ts');
        const { projectFolder } = config();
        const machine = { platform: process.platform, env, projectFolder };
        const hosts = userHomes.flatMap((one) => hostFiles({ ...machine, userHome: one }));
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

/** Disables the server, with the reason. */
const withoutFiles = ({ entry, ...server }: ServerConfig, { projectFolder }: Config): ServerConfig => ({
  ...server,
  ...(entry && { entry: { ...entry, enabled: false } }),
  whyDisabled: {
    message: `There are no file tools here: the folder ${projectFolder} is or contains your home folder.`,
    fix: 'Run Heddle in a project folder, or name folders in `builtins.filesystem.allowedPaths`.',
  },
});

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
