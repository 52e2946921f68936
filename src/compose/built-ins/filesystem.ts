import { homedir } from 'node:os';
import { parse as parsePath } from 'node:path';
import type { Config } from '../../config/config.ts';
import { VERSION } from '../../core/version.ts';
import { type BuiltIn, type BuiltInParts, builtInServer } from './built-in.ts';

const NAME = 'filesystem';

/** Returns the built-in server of the file tools. */
export function builtInFilesystem({ config, home }: BuiltInParts): BuiltIn {
  return {
    name: NAME,
    configOf(config) {
      const { enabled, ...settings } = config.settings.builtins.filesystem;
      if (!enabled || isTooWide(config)) return undefined;
      const description = `Files below ${settings.allowedPaths.join(', ')}`;
      return builtInServer({ name: NAME, description, revision: { version: VERSION, ...settings } });
    },
    async serve(transport) {
      const { allowedPaths: roots, enabled: _, ...settings } = config().settings.builtins.filesystem;
      const { serveFilesystem } = await import('../../builtin/filesystem/serve-filesystem.ts');
      await serveFilesystem(transport, { ...settings, roots, hidden: [home] });
    },
    close: async () => {},
  };
}

/** Returns true if the project folder is `/` or the user's home folder and no other path is configured. */
function isTooWide({ projectFolder, settings }: Config): boolean {
  const chosen = settings.builtins.filesystem.allowedPaths.some((path) => path !== projectFolder);
  return !chosen && [parsePath(projectFolder).root, homedir()].includes(projectFolder);
}
