import { join } from 'node:path';
import type { JsonObject } from '../../core/call.ts';
import type { Clock } from '../../core/time.ts';
import { type Arguments, readToolArguments } from '../read-arguments.ts';
import { type BuiltinTool, structured } from '../serve-tools.ts';
import { quote, ToolFailure } from '../tool-failure.ts';
import { WRITES_FILES } from './facts.ts';
import { explainFileError } from './places/file-error.ts';
import { findTarget, type WriteTarget } from './places/find-target.ts';
import type { Roots } from './places/roots.ts';
import { isTemporaryName, removeLeftovers, replaceContent } from './replace-content.ts';

const ENCODINGS = ['utf-8', 'base64'] as const;

interface WriteOptions {
  readonly roots: Roots;
  readonly maxFileBytes: number;
  readonly clock?: Clock;
  /** The permissions that new files do not get. */
  readonly umask?: number;
}

/** The tool `fs_write_file`. */
export function writeFileTool(options: WriteOptions): BuiltinTool {
  const { roots: all, maxFileBytes, clock = Date.now, umask = process.umask() } = options;
  return {
    definition: definition(options),
    async run(input, signal, clientRoots) {
      const args = readToolArguments(input, ['path', 'content', 'encoding', 'createDirs']);
      const path = args.text('path');
      if (path === undefined) throw new ToolFailure('The argument "path" is missing. Name the file to write.');
      const createDirs = args.flag('createDirs') ?? true;
      const bytes = contentOf(args, maxFileBytes);
      const roots = await all.narrow(clientRoots);
      const explain = (thrown: unknown) => explainFileError(thrown, { path, roots: roots.shown, writes: true });
      const target = await findTarget({ roots, path, createDirs, signal }).catch((thrown) => {
        throw explain(thrown);
      });
      try {
        requireReplaceable(target, path);
        await replaceContent(target, bytes, { signal, umask });
        await removeLeftovers(target.parent, clock);
        return reportOf(target, bytes.length);
      } catch (thrown) {
        await target.undo();
        throw explain(thrown);
      } finally {
        await target.close();
      }
    },
  };
}

/** Returns the bytes to write. Their number is limited, not that of the characters. */
function contentOf(args: Arguments, maxFileBytes: number): Buffer {
  const content = args.text('content');
  const encoding = args.choice('encoding', ENCODINGS) ?? 'utf-8';
  if (content === undefined) throw new ToolFailure('The argument "content" is missing. Give the whole content.');
  if (encoding === 'utf-8' && !content.isWellFormed()) {
    throw new ToolFailure('The content has half a character (a lone surrogate). Send bytes with encoding "base64".');
  }
  const size = Buffer.byteLength(content, encoding);
  if (size > maxFileBytes) {
    const limit = `and at most ${maxFileBytes} are written`;
    throw new ToolFailure(`The content has ${size} bytes, ${limit}. Nothing has changed. Split it into several files.`);
  }
  const bytes = Buffer.from(content, encoding);
  // The decoder skips what is not base64.
  if (encoding === 'base64' && bytes.toString('base64') !== content) {
    throw new ToolFailure('The content is not base64. Encode it with padding and without line breaks.');
  }
  return bytes;
}

function requireReplaceable({ name, existing }: WriteTarget, path: string): void {
  if (isTemporaryName(name)) {
    throw new ToolFailure(`${quote(path)} has the form of a temporary file, which is removed. Choose another name.`);
  }
  if (!existing || existing.stats.isFile()) return;
  const reason = existing.stats.isDirectory()
    ? 'is a directory. Choose the name of a file'
    : 'is a device, a pipe or a socket. Only regular files are written';
  throw new ToolFailure(`${quote(path)} ${reason}.`);
}

function reportOf({ parent, name, existing }: WriteTarget, bytes: number): JsonObject {
  const otherLinks = (existing?.stats.nlink ?? 1) - 1;
  const report = { path: join(parent.real, name), bytes, created: !existing, ...(otherLinks > 0 && { otherLinks }) };
  const note = `The file had ${otherLinks} other hard link(s), which keep the old content.`;
  return structured(report, ...(otherLinks > 0 ? [note] : []));
}

function definition({ roots, maxFileBytes }: WriteOptions): BuiltinTool['definition'] {
  const properties: JsonObject = {
    path: { type: 'string', minLength: 1, description: `Absolute, or relative to the first of: ${roots.shown}.` },
    content: { type: 'string', description: `The whole content, at most ${maxFileBytes} bytes.` },
    encoding: {
      type: 'string',
      enum: ENCODINGS,
      default: 'utf-8',
      description: 'How content becomes bytes. Binary files need base64.',
    },
    createDirs: { type: 'boolean', default: true, description: 'Create missing directories.' },
  };
  return {
    name: 'fs_write_file',
    title: 'Write a file',
    description:
      'Creates a file, or replaces its whole content at once: after a failure the old content is there. ' +
      'Never writes files that programs run by themselves: configuration of Heddle, agents, editors, shells and git.',
    inputSchema: { type: 'object', properties, required: ['path', 'content'], additionalProperties: false },
    outputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The absolute path of the written file.' },
        bytes: { type: 'integer', minimum: 0 },
        created: { type: 'boolean', description: 'False when an earlier content was replaced.' },
        otherLinks: { type: 'integer', minimum: 1, description: 'Hard links that keep the earlier content.' },
      },
      required: ['path', 'bytes', 'created'],
    },
    ...WRITES_FILES,
  };
}
