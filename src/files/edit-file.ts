import { readFileSync, renameSync, type Stats } from 'node:fs';
import { chmod, type FileHandle, open, readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { HeddleError } from '../core/errors.ts';
import { followLinks } from './follow-links.ts';
import { homeFolder } from './home-folder.ts';
import { makeFolder } from './make-folder.ts';
import { PRIVATE_FILE, PRIVATE_FOLDER, syncFolder } from './private-file.ts';

export interface ReplaceOptions {
  /** Heddle's folder of this user. New files below it get mode 0600, new folders 0700. */
  readonly home?: string;
  /** Mode of a new file, wherever it is. */
  readonly newFileMode?: number;
}

const ORDINARY_FILE = 0o644;
const MODE_BITS = 0o777;

const MAX_ATTEMPTS = 20;
const ABANDONED_MS = 5000;
const PAUSE_MS = 10;
const MAX_BYTES = 5 * 1024 * 1024;

/**
 * Replaces a whole file and keeps its mode; if that fails, the old file is unchanged. Follows symbolic links: the file
 * at the end of the chain is replaced.
 */
export async function replaceFile(file: string, text: string, options: ReplaceOptions = {}): Promise<void> {
  await withFileName(file, () => replace(file, Buffer.from(text), options));
}

/** The text of a file before and after an edit. */
export interface Edited {
  readonly before: string;
  readonly after: string;
}

/**
 * Edits the text of a file; a missing file has the text ''. If another program writes the file meanwhile, the edit is
 * applied to the new text, up to 20 times.
 */
export async function editFile(
  file: string,
  edit: (before: string) => string,
  options: ReplaceOptions = {},
): Promise<Edited> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const expected = await withFileName(file, () => readBytes(file));
    const before = decode(file, expected);
    const after = edit(before);
    if (before === after) return { before, after };
    if (await withFileName(file, () => replace(file, Buffer.from(after), { ...options, expected })))
      return { before, after };
  }
  throw new HeddleError(
    'CONFIG_INVALID',
    `Another program changed ${file} during each of ${MAX_ATTEMPTS} attempts to write it.`,
    {
      fix: 'Run the command again when the other program has finished.',
    },
  );
}

/** Reads the text that `editFile` would edit: '' for a missing file. */
export async function readTextFile(file: string): Promise<string> {
  return decode(file, await withFileName(file, () => readBytes(file)));
}

interface Replacement extends ReplaceOptions {
  /** Replaces the file only if it still has this content. */
  readonly expected?: Buffer;
}

async function replace(file: string, content: Buffer, options: Replacement): Promise<boolean> {
  const { home = homeFolder(process.env), newFileMode, expected } = options;
  const target = await followLinks(file);
  const inside = isWithin(target, resolve(home)) || isWithin(resolve(file), resolve(home));
  makeFolder(dirname(target), inside ? PRIVATE_FOLDER : undefined);
  const mode = (await modeOf(target)) ?? newFileMode ?? (inside ? PRIVATE_FILE : ORDINARY_FILE);
  const temporary = join(dirname(target), `.${basename(target)}.heddle-new`);
  const handle = await openExclusively(temporary);
  let renamed = false;
  try {
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await chmod(temporary, mode); // The umask would remove bits from the mode given to `open`.
    // No await between the comparison and the rename: other programs take no lock.
    if (expected !== undefined && !readBytesSync(target).equals(expected)) return false;
    renameSync(temporary, target);
    renamed = true; // From here on the temporary name may belong to another process.
  } finally {
    if (!renamed) await rm(temporary, { force: true });
  }
  await syncFolder(dirname(target));
  return true;
}

// The temporary file is also the lock: while it exists, no other Heddle process writes. After 5 s it counts as abandoned.
async function openExclusively(temporary: string): Promise<FileHandle> {
  const deadline = performance.now() + 2 * ABANDONED_MS;
  for (;;) {
    try {
      return await open(temporary, 'wx', PRIVATE_FILE);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || performance.now() > deadline) throw error;
    }
    const found = await stat(temporary).catch(absent);
    if (found && Date.now() - found.mtimeMs > ABANDONED_MS) await rm(temporary, { force: true });
    else await wait(PAUSE_MS);
  }
}

async function withFileName<T>(file: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    if (HeddleError.is(cause)) throw cause;
    const code = cause instanceof Error && 'code' in cause ? cause.code : cause;
    throw new HeddleError('CONFIG_INVALID', `${file} cannot be changed (${code}).`, {
      cause,
      fix: 'Check that it is a file, and that you may read and write it and its folder.',
    });
  }
}

async function readBytes(file: string): Promise<Buffer> {
  const found = await stat(file).catch(absent);
  if (found === undefined) return Buffer.alloc(0);
  requireFile(file, found);
  if (found.size > MAX_BYTES) {
    throw new HeddleError('CONFIG_INVALID', `${file} has ${found.size} bytes; the most Heddle edits is ${MAX_BYTES}.`, {
      fix: 'Make the file smaller.',
    });
  }
  return readFile(file);
}

function readBytesSync(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    return absent(error as NodeJS.ErrnoException) ?? Buffer.alloc(0);
  }
}

// Fatal: otherwise invalid bytes would be replaced silently and written back changed.
function decode(file: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new HeddleError('CONFIG_INVALID', `${file} is not UTF-8 text.`, { cause, fix: 'Save it as UTF-8.' });
  }
}

async function modeOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(absent);
  if (found === undefined) return undefined;
  requireFile(file, found);
  return found.mode & MODE_BITS;
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

function requireFile(file: string, found: Stats): void {
  if (found.isFile()) return;
  throw new HeddleError('CONFIG_INVALID', `${file} is ${found.isDirectory() ? 'a folder' : 'not a regular file'}.`, {
    fix: 'Move it away, or name another file.',
  });
}

function isWithin(path: string, folder: string): boolean {
  const inner = relative(folder, path);
  return inner !== '' && !inner.startsWith('..');
}
