import type { Config, ServerConfig } from '../config/config.ts';
import { FILESYSTEM, inProcessServer } from '../upstream/lifecycle/programmatic-servers.ts';
import type { Serve } from '../upstream/transports/connect-in-memory.ts';

export interface BuiltInOptions {
  readonly config: () => Config;
  readonly inProcess: Map<string, Serve>;
  /** Heddle's own folder, which its file tools do not show. */
  readonly home: string;
}

/** The servers that come with Heddle. Their privileges belong to these objects, not to their names. */
export function builtIns({ config, inProcess, home }: BuiltInOptions): readonly ServerConfig[] {
  inProcess.set(FILESYSTEM, async (line) => {
    const { allowedPaths, maxFileBytes } = config().settings.builtins.filesystem;
    const { serveFilesystem } = await import('../builtin/filesystem/serve-filesystem.ts');
    await serveFilesystem(line, { roots: allowedPaths, maxFileBytes, hidden: [home] });
  });
  return [inProcessServer('filesystem', FILESYSTEM, 'builtin')];
}
