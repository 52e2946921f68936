import type { Config, ServerConfig } from '../config/config.ts';
import { FILESYSTEM, inProcessServer } from '../upstream/lifecycle/programmatic-servers.ts';
import type { Serve } from '../upstream/transports/connect-in-memory.ts';

export interface BuiltInOptions {
  readonly config: () => Config;
  readonly inProcess: Map<string, Serve>;
  /** Heddle's own folder. The file tools do not show it. */
  readonly home: string;
}

/** The servers that ship with Heddle. Their privileges belong to these objects, not to their names. */
export const BUILT_IN_SERVERS: readonly ServerConfig[] = [inProcessServer('filesystem', FILESYSTEM, 'builtin')];

/** Adds the in-process side of the built-in servers to `inProcess`. */
export function serveBuiltIns({ config, inProcess, home }: BuiltInOptions): void {
  inProcess.set(FILESYSTEM, async (transport) => {
    const { allowedPaths, maxFileBytes } = config().settings.builtins.filesystem;
    const { serveFilesystem } = await import('../builtin/filesystem/serve-filesystem.ts');
    await serveFilesystem(transport, { roots: allowedPaths, maxFileBytes, hidden: [home] });
  });
}
