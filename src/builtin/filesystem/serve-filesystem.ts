import type { Transport } from '../../wire/transport.ts';
import { serveTools } from '../serve-tools.ts';
import { getFileInfoTool } from './get-file-info.ts';
import { listDirectoryTool } from './list-directory.ts';
import { openRoots } from './places/roots.ts';
import { readFileTool } from './read-file.ts';
import { searchFilesTool } from './search-files.ts';
import { writeFileTool } from './write-file.ts';

// The version of these tools, not of Heddle.
const VERSION = '1.1.0';

export interface FilesystemOptions {
  /** Absolute directories. Nothing outside them is opened. Relative paths begin at the first. */
  readonly roots: readonly string[];
  /** The most bytes that one call reads or writes. Larger files are read in parts. */
  readonly maxFileBytes: number;
  /** Absolute paths that are hidden even inside a root. */
  readonly hidden?: readonly string[];
  /** Returns absolute paths of files that are never written, such as the configuration in use. */
  readonly neverWritten?: () => Promise<readonly string[]>;
  /** True leaves out the tool that writes. */
  readonly readOnly?: boolean;
  /** True limits each client to its own roots inside `roots`. */
  readonly clientRoots?: boolean;
  /** The platform. Only Linux can keep a directory open by handle during a lookup. */
  readonly platform?: NodeJS.Platform;
  readonly trouble?: (error: Error) => void;
}

/** Serves the filesystem tools on one transport. Throws CONFIG_INVALID when a root cannot be used. */
export async function serveFilesystem(transport: Transport, options: FilesystemOptions): Promise<void> {
  const { maxFileBytes, platform, hidden, neverWritten, readOnly = false, clientRoots = false, trouble } = options;
  const roots = await openRoots(options.roots, { platform, hidden, neverWritten });
  await serveTools(transport, {
    name: 'filesystem',
    version: VERSION,
    instructions: `Files below ${roots.shown}. Relative paths begin at the first of these.`,
    tools: [
      readFileTool({ roots, maxFileBytes }),
      listDirectoryTool({ roots }),
      searchFilesTool({ roots }),
      getFileInfoTool({ roots }),
      ...(readOnly ? [] : [writeFileTool({ roots, maxFileBytes })]),
    ],
    clientRoots,
    ...(trouble && { trouble }),
  });
}
