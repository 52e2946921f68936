import type { Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { isObject } from '../../core/json.ts';
import type { Problem, Scope, SourceFile } from '../config.ts';
import type { Document, JsonPath } from '../document.ts';
import { valueAt } from './describe-issue.ts';
import { parseDocument } from './parse-document.ts';

const MAX_BYTES = 5 * 1024 * 1024;

/** The result of reading one configuration file. */
export type FileReading = (
  | { readonly state: 'absent' }
  | { readonly state: 'broken'; readonly problem: Problem }
  | { readonly state: 'found'; readonly document: Document }
) & {
  /** The version of the file just before it was read. */
  readonly version?: string;
};

/** The version of a file that does not exist. */
export const MISSING = 'missing';

/** Returns a version text that changes with every write to a file. */
export const fileVersion = ({ ino, size, mtimeMs, ctimeMs }: Stats): string => `${ino} ${size} ${mtimeMs} ${ctimeMs}`;

/** Parses the text of a file. */
type ParseText = (file: string, text: string) => Document | Problem;

export interface ReadFileOptions {
  /** A file without content at this path counts as absent. */
  readonly wanted?: JsonPath | undefined;
  /** The parser; that of JSON, if absent. */
  readonly parse?: ParseText;
}

/**
 * Reads one configuration file. Errors are part of the result, not thrown.
 */
export async function readConfigFile(file: string, options: ReadFileOptions = {}): Promise<FileReading> {
  let version: string | undefined;
  try {
    const found = await stat(file);
    version = fileVersion(found);
    return { ...(await readFound(file, found, options)), version };
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return { state: 'absent', version: MISSING };
    return { ...broken(file, `cannot be read (${code})`), ...(version !== undefined && { version }) };
  }
}

async function readFound(file: string, found: Stats, { wanted, parse }: ReadFileOptions): Promise<FileReading> {
  const read = await readText(file, found, MAX_BYTES);
  if ('reason' in read) return broken(file, read.reason);
  const { text } = read;
  return wanted !== undefined && isEmptyAt(text, wanted) ? { state: 'absent' } : readConfigText(file, text, parse);
}

type TextReading = { readonly text: string } | { readonly reason: string };

async function readText(file: string, found: Stats, maxBytes: number): Promise<TextReading> {
  // Reading a pipe or a device could wait forever.
  if (!found.isFile()) return { reason: `is ${found.isDirectory() ? 'a folder' : 'not a regular file'}` };
  if (found.size > maxBytes) return { reason: tooLarge(found.size, maxBytes) };
  const text = decode(await readFile(file));
  return text === undefined ? { reason: NOT_TEXT } : { text };
}

const NOT_TEXT = 'is not UTF-8 text';
const tooLarge = (size: number, maxBytes: number) => `has ${size} bytes; the most Heddle reads is ${maxBytes}`;

/** Reads a text file of limited size, with its version just before. The reason of a failure is a phrase. */
export async function readLimitedText(
  file: string,
  maxBytes: number,
): Promise<TextReading & { readonly version: string }> {
  let version = MISSING;
  try {
    const found = await stat(file);
    version = fileVersion(found);
    return { ...(await readText(file, found, maxBytes)), version };
  } catch (error) {
    const code = codeOf(error);
    return { reason: code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`, version };
  }
}

/** Parses the text of a configuration file; `file` is the name in its problems. */
export function readConfigText(file: string, text: string, parse: ParseText = parseDocument): FileReading {
  const document = parse(file, text);
  return 'root' in document ? { state: 'found', document } : { state: 'broken', problem: document };
}

/** Parses the bytes of a configuration file that is not on disk; `file` is the name in its problems. */
export function readConfigBytes(file: string, bytes: Uint8Array): Document | Problem {
  const text = bytes.length > MAX_BYTES ? undefined : decode(bytes);
  if (text !== undefined) return parseDocument(file, text);
  return unreadable(file, bytes.length > MAX_BYTES ? tooLarge(bytes.length, MAX_BYTES) : NOT_TEXT);
}

/** Returns the entry of `Config.files` for a file that was read. */
export const sourceFile = (file: string, scope: Scope, { state, version }: FileReading): SourceFile => ({
  file,
  scope,
  state,
  ...(version !== undefined && { version }),
});

// Settings of other programs may have megabytes. JSON.parse is much faster than the parser that records locations.
function isEmptyAt(text: string, wanted: JsonPath): boolean {
  try {
    const found = valueAt(JSON.parse(text), wanted);
    return found === undefined || (isObject(found) && Object.keys(found).length === 0);
  } catch {
    return false;
  }
}

// Fatal: a replaced byte would silently change a key or a path. Drops a byte-order mark.
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const broken = (file: string, reason: string): FileReading => ({ state: 'broken', problem: unreadable(file, reason) });

function unreadable(file: string, reason: string): Problem {
  const fix = 'Put a readable JSON file there, or remove it.';
  return {
    level: 'error',
    code: 'CONFIG_INVALID',
    message: `${file} ${reason}.`,
    fix,
    at: { file, line: 1, column: 1 },
  };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
