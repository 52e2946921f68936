import { readFile, stat } from 'node:fs/promises';
import type { Problem } from './config.ts';
import { type Document, parseDocument } from './parse-document.ts';

const MAX_BYTES = 5 * 1024 * 1024;

export type Reading =
  | { readonly state: 'absent' }
  | { readonly state: 'broken'; readonly problem: Problem }
  | { readonly state: 'found'; readonly document: Document };

/** Reads one configuration file. Whatever is wrong with it is in the answer; nothing is thrown. */
export async function readConfigFile(file: string): Promise<Reading> {
  try {
    const found = await stat(file);
    // A pipe or a device would wait for a writer that never comes.
    if (!found.isFile()) return broken(file, `is ${found.isDirectory() ? 'a folder' : 'not a regular file'}`);
    if (found.size > MAX_BYTES) return broken(file, `has ${found.size} bytes; the most Heddle reads is ${MAX_BYTES}`);
    const bytes = await readFile(file);
    return parsed(file, bytes);
  } catch (error) {
    const code = codeOf(error);
    return code === 'ENOENT' ? { state: 'absent' } : broken(file, `cannot be read (${code})`);
  }
}

function parsed(file: string, bytes: Uint8Array): Reading {
  const text = decode(bytes);
  if (text === undefined) return broken(file, 'is not UTF-8 text');
  const document = parseDocument(file, text);
  return 'root' in document ? { state: 'found', document } : { state: 'broken', problem: document };
}

// Fatal: a byte that is replaced silently would be a key or a path that nobody wrote. Drops a byte-order mark.
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function broken(file: string, why: string): Reading {
  const fix = 'Put a readable JSON file there, or remove it.';
  const at = { file, line: 1, column: 1 };
  return {
    state: 'broken',
    problem: { level: 'error', code: 'CONFIG_INVALID', message: `${file} ${why}.`, fix, at },
  };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
