import type { Transport } from '../../wire/json-rpc.ts';
import { serveTools } from '../serve-tools.ts';
import { listDirectoryTool } from './list-directory.ts';
import { readFileTool } from './read-file.ts';
import { openRoots } from './roots.ts';

// Of these tools, not of Heddle: it changes when they do.
const VERSION = '1.0.0';

export interface FilesystemOptions {
  /** Absolute directories. Nothing outside them is ever opened; the first is where relative paths begin. */
  readonly roots: readonly string[];
  /** The most that one call reads; larger files are read in parts. */
  readonly maxFileBytes: number;
  /** Absolute paths that are never shown, though they be inside a root. */
  readonly hidden?: readonly string[];
  /** The platform. Only Linux can keep a directory open by handle during a lookup. */
  readonly platform?: NodeJS.Platform;
  readonly trouble?: (error: Error) => void;
}

/** Serves the filesystem tools on one transport. Throws CONFIG_INVALID when a root cannot be used. */
export async function serveFilesystem(line: Transport, options: FilesystemOptions): Promise<void> {
  const { maxFileBytes, platform, hidden, trouble } = options;
  const roots = await openRoots(options.roots, { platform, hidden });
  await serveTools(line, {
    name: 'filesystem',
    version: VERSION,
    instructions: `Files below ${roots.shown}. Relative paths begin at the first of these.`,
    tools: [readFileTool({ roots, maxFileBytes }), listDirectoryTool({ roots })],
    ...(trouble && { trouble }),
  });
}
