import type { JsonObject } from '../../core/call.ts';
import { readToolArguments } from '../read-arguments.ts';
import type { BuiltinTool } from '../serve-tools.ts';
import { quote, ToolFailure } from '../tool-failure.ts';
import { READS_FILES } from './facts.ts';
import { imageTypeOf } from './image-type.ts';
import { explainFileError } from './places/file-error.ts';
import { findPlace } from './places/find-place.ts';
import type { OpenFile } from './places/open-file.ts';
import type { FilePlace } from './places/place.ts';
import type { Roots } from './places/roots.ts';
import { decodeWindow } from './utf8-window.ts';

const ENCODINGS = ['utf-8', 'base64'] as const;
const CHUNK = 1024 * 1024;

/** The requested byte range of a file. */
interface RequestedRange {
  readonly path: string;
  readonly offset: number;
  readonly limit: number | undefined;
}

interface Limits {
  readonly roots: Roots;
  readonly maxFileBytes: number;
}

/** The tool `fs_read_file`. */
export function readFileTool(limits: Limits): BuiltinTool {
  const { roots: all, maxFileBytes } = limits;
  return {
    definition: definition(limits),
    async run(input, signal, clientRoots) {
      const args = readToolArguments(input, ['path', 'encoding', 'offset', 'limit']);
      const path = args.text('path');
      if (path === undefined) throw new ToolFailure('The argument "path" is missing. Name the file to read.');
      const encoding = args.choice('encoding', ENCODINGS);
      const offset = args.integer('offset', { min: 0 }) ?? 0;
      const limit = args.integer('limit', { min: 1, max: maxFileBytes });
      const requested = { path, offset, limit };

      const roots = await all.narrow(clientRoots);
      const place = await findPlace(roots, path, signal);
      try {
        requireFile(place, path);
        await using file = await place.open();
        const { start, end, size } = await bounds(file, requested, maxFileBytes);
        const span = { start, end, size, signal };
        if (encoding === 'base64') return asText((await readBytes(file, span)).toString('base64'));
        const mayBeImage = encoding === undefined && start === 0 && limit === undefined;
        return await readContent(file, span, { path, mayBeImage });
      } catch (thrown) {
        throw explainFileError(thrown, { path, roots: roots.shown });
      } finally {
        await place.close();
      }
    },
  };
}

function requireFile({ stats }: FilePlace, path: string): void {
  if (stats.isFile()) return;
  const reason = stats.isDirectory()
    ? 'is a directory. Use fs_list_directory for it'
    : 'is a device, a pipe or a socket, not a file. Choose a regular file';
  throw new ToolFailure(`${quote(path)} ${reason}.`);
}

/** Returns the byte range to read, from the size of the opened file. The file may have grown since the lookup. */
async function bounds(file: OpenFile, requested: RequestedRange, maxFileBytes: number) {
  const { size, nlink } = await file.stats();
  const path = quote(requested.path);
  if (nlink > 1) {
    const reason = 'has more than one hard link, so it may belong to a place outside the allowed roots';
    throw new ToolFailure(`${path} ${reason}. Have it copied, and read the copy.`);
  }
  if (requested.offset > size) {
    throw new ToolFailure(
      `${path} has ${size} bytes, so there is nothing at offset ${requested.offset}. Use a smaller one.`,
    );
  }
  const end = requested.limit === undefined ? size : Math.min(size, requested.offset + requested.limit);
  if (end - requested.offset > maxFileBytes) {
    const reason = `has ${size} bytes, and at most ${maxFileBytes} are read at once`;
    throw new ToolFailure(`${path} ${reason}. Read a part with offset and limit.`);
  }
  return { start: requested.offset, end, size };
}

interface Span {
  readonly start: number;
  readonly end: number;
  /** The size of the whole file. */
  readonly size: number;
  readonly signal: AbortSignal;
}

const asText = (text: string): JsonObject => ({ content: [{ type: 'text', text }] });

interface ContentRequest {
  readonly path: string;
  /** True for a whole file without a requested encoding. */
  readonly mayBeImage: boolean;
}

/** Reads text, or an image as image content. */
async function readContent(
  file: OpenFile,
  { start, end, size, signal }: Span,
  { path, mayBeImage }: ContentRequest,
): Promise<JsonObject> {
  // Includes the rest of a character that begins before `start` or ends after `end`.
  const from = Math.max(0, start - 3);
  const bytes = await readBytes(file, { start: from, end: Math.min(size, end + 1), signal });
  const text = decodeWindow(bytes, start - from, end - from);
  if (text !== undefined) return asText(text);
  const mimeType = mayBeImage ? imageTypeOf(bytes) : undefined;
  if (mimeType !== undefined) {
    return { content: [{ type: 'image', data: bytes.subarray(0, end).toString('base64'), mimeType }] };
  }
  throw new ToolFailure(`${quote(path)} is not UTF-8 text. Read it with encoding "base64".`);
}

async function readBytes(file: OpenFile, { start, end, signal }: Omit<Span, 'size'>): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(end - start);
  let filled = 0;
  while (filled < bytes.length) {
    signal.throwIfAborted();
    const count = await file.read(bytes.subarray(filled, filled + CHUNK), start + filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

function definition({ roots, maxFileBytes }: Limits): BuiltinTool['definition'] {
  const properties: JsonObject = {
    path: { type: 'string', minLength: 1, description: `Absolute, or relative to the first of: ${roots.shown}.` },
    encoding: {
      type: 'string',
      enum: ENCODINGS,
      description:
        'How the bytes become text. Binary files need base64. ' +
        'Without it, a whole PNG, JPEG, GIF or WebP file is returned as an image, and other files as utf-8.',
    },
    offset: {
      type: 'integer',
      minimum: 0,
      default: 0,
      description:
        'Byte to begin at. As utf-8 no character is cut: parts begin and end at the start of the character there, ' +
        'so parts read one after another join without a gap.',
    },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: maxFileBytes,
      description: 'How many bytes to read. Without it: to the end of the file.',
    },
  };
  return {
    name: 'fs_read_file',
    title: 'Read a file',
    description: `Reads a file and returns its content alone, at most ${maxFileBytes} bytes at once. Larger files are read in parts with offset and limit.`,
    inputSchema: { type: 'object', properties, required: ['path'], additionalProperties: false },
    ...READS_FILES,
  };
}
