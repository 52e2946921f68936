import { readFileSync, renameSync, type Stats } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readFile, readlink, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { HeddleError } from '../../core/errors.ts';

export interface ReplaceOptions {
  /** Heddle's own folder: what is new below it is the user's alone. */
  readonly home?: string;
}

const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;
const ORDINARY_FILE = 0o644;
const MODE_BITS = 0o777;
const MOST_LINKS = 40;

const MOST_ATTEMPTS = 20;
const ABANDONED_MS = 5000;
const PAUSE_MS = 10;
const MAX_BYTES = 5 * 1024 * 1024;

/** Writes the whole file or leaves the old one as it was; a link stays a link, and what it points to is written. */
export async function replaceFile(file: string, text: string, options: ReplaceOptions = {}): Promise<void> {
  await named(file, () => replace(file, Buffer.from(text), options));
}

export interface Edited {
  readonly before: string;
  readonly after: string;
}

/** Changes a file's text (empty when there is none). What another program writes meanwhile is not lost: it is edited again. */
export async function editFile(
  file: string,
  edit: (before: string) => string,
  options: ReplaceOptions = {},
): Promise<Edited> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const expected = await named(file, () => readBytes(file));
    const before = decode(file, expected);
    const after = edit(before);
    if (before === after) return { before, after };
    if (await named(file, () => replace(file, Buffer.from(after), { ...options, expected }))) return { before, after };
  }
  throw new HeddleError('CONFIG_INVALID', `${file} was changed by another program each time it was to be written.`, {
    fix: 'Run the command again when the other program is done.',
  });
}

/** A file's text as `editFile` would see it; empty when there is none. */
export async function readTextFile(file: string): Promise<string> {
  return decode(file, await named(file, () => readBytes(file)));
}

interface Replacement extends ReplaceOptions {
  /** What the file must still hold. */
  readonly expected?: Buffer;
}

async function replace(file: string, content: Buffer, options: Replacement): Promise<boolean> {
  const { home = process.env.HEDDLE_HOME || join(homedir(), '.heddle'), expected } = options;
  const target = await behindLinks(resolve(file));
  const inside = isWithin(target, resolve(home)) || isWithin(resolve(file), resolve(home));
  await mkdir(dirname(target), { recursive: true, ...(inside && { mode: PRIVATE_FOLDER }) });
  const mode = (await modeOf(target)) ?? (inside ? PRIVATE_FILE : ORDINARY_FILE);
  const temporary = join(dirname(target), `.${basename(target)}.heddle-new`);
  const handle = await openAlone(temporary);
  let renamed = false;
  try {
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await chmod(temporary, mode); // Not `open`'s mode: the umask would take bits that the old file had.
    // No await between look and rename: editors take no locks.
    if (expected !== undefined && !bytesNow(target).equals(expected)) return false;
    renameSync(temporary, target);
    renamed = true; // The name is free from here on, and may be another's.
  } finally {
    if (!renamed) await rm(temporary, { force: true });
  }
  await syncFolder(dirname(target));
  return true;
}

// The new file is the lock too: while it is there, no other Heddle writes. What a dead one left behind is old soon.
async function openAlone(temporary: string): Promise<FileHandle> {
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

async function named<T>(file: string, act: () => Promise<T>): Promise<T> {
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

function bytesNow(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    return absent(error as NodeJS.ErrnoException) ?? Buffer.alloc(0);
  }
}

// Fatal: bytes that are no text would be replaced silently, and written back changed.
function decode(file: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new HeddleError('CONFIG_INVALID', `${file} is not UTF-8 text.`, { cause, fix: 'Save it as UTF-8.' });
  }
}

// Without it a power cut may bring the old name back. Some file systems cannot; the file itself is whole either way.
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().catch(() => undefined);
  await handle.close();
}

/** Not `realpath`: the end of the chain need not exist yet. */
async function behindLinks(file: string): Promise<string> {
  let target = file;
  for (let links = 0; links < MOST_LINKS; links++) {
    const next = await readlink(target).catch(() => undefined);
    if (next === undefined) return target;
    target = resolve(dirname(target), next);
  }
  throw new HeddleError('CONFIG_INVALID', `${file} is a symbolic link that leads nowhere.`, {
    fix: 'Remove the link.',
  });
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
  const way = relative(folder, path);
  return way !== '' && !way.startsWith('..');
}
