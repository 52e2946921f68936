import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { JsonPath } from '../../config/document.ts';
import type { ApplicationName } from '../../config/hosts/hosts.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { writePrivateFile } from '../../files/private-file.ts';
import type { HostChange } from './host-changes.ts';

/** The note of one `heddle connect`, by which `--undo` restores the host's file. */
export interface ConnectRecord {
  readonly host: ApplicationName;
  readonly file: string;
  /** False if there was no file before. */
  readonly existed: boolean;
  /** The topmost folder that was created for a new file. */
  readonly createdFolder?: string | undefined;
  /** The path of the copy of the file's text before. */
  readonly backup: string;
  /** SHA-256 of the copy. */
  readonly before: string;
  /** SHA-256 of each text that connect wrote. While the file has one of them, undo restores the copy. */
  readonly written: readonly string[];
  readonly entryPath: JsonPath;
  readonly changes: readonly HostChange[];
  /** The servers that connect disabled in the host. */
  readonly disabled: readonly string[];
  /** The name of the host's API key. */
  readonly key?: string | undefined;
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Returns the path of a host's record in the home folder. */
export function recordFile(home: string, { host, file }: Pick<ConnectRecord, 'host' | 'file'>): string {
  return join(home, 'connect', `${host}-${sha256(file).slice(0, 8)}.json`);
}

/** Returns the path of the copy of a text. Each text has a file of its own, so that no copy is overwritten. */
export function backupFile(home: string, where: Pick<ConnectRecord, 'host' | 'file'>, text: string): string {
  return recordFile(home, where).replace(/json$/, `${sha256(text).slice(0, 8)}.backup`);
}

/** Returns the path of the file with the key of a host that starts Heddle itself. */
export const keyFile = (home: string, where: Pick<ConnectRecord, 'host' | 'file'>): string =>
  recordFile(home, where).replace(/json$/, 'key');

/** Reads the record of a host's file; undefined if it is not connected. Throws CONFIG_INVALID for a damaged one. */
export async function readRecord(
  home: string,
  where: Pick<ConnectRecord, 'host' | 'file'>,
): Promise<ConnectRecord | undefined> {
  const path = recordFile(home, where);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (text === undefined) return undefined;
  const record = safeParse(text);
  if (isRecord(record)) return record;
  throw new HeddleError('CONFIG_INVALID', `The record ${path} is damaged.`, {
    fix: `Restore ${where.file} from the copy beside the record, then remove the record.`,
  });
}

function safeParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is ConnectRecord {
  if (!isObject(value)) return false;
  const { host, file, existed, backup, before, written, entryPath, changes, disabled } = value;
  return (
    [host, file, backup, before].every((field) => typeof field === 'string') &&
    [written, entryPath, changes, disabled].every((field) => Array.isArray(field)) &&
    typeof existed === 'boolean'
  );
}

/**
 * Returns the name of the API key for a host's file: `connect-<host>`. A second file of the host, such as that of another
 * `CODEX_HOME`, gets another name: keys of the same name would revoke each other.
 */
export async function hostKeyName(home: string, where: Pick<ConnectRecord, 'host' | 'file'>): Promise<string> {
  const own = recordFile(home, where);
  const known = (await readRecord(home, where))?.key;
  if (known !== undefined) return known;
  const names = await readdir(dirname(own)).catch(() => []);
  const others = names.filter((name) => name.startsWith(`${where.host}-`) && /^[\w-]+\.json$/.test(name));
  const isAlone = others.every((name) => name === basename(own));
  return `connect-${isAlone ? where.host : basename(own, '.json')}`;
}

export async function writeRecord(home: string, record: ConnectRecord): Promise<void> {
  await writePrivateFile(recordFile(home, record), `${JSON.stringify(record, null, 2)}\n`);
}

export async function removeRecord(home: string, record: ConnectRecord): Promise<void> {
  await rm(recordFile(home, record), { force: true });
}

/** Reads the copy of the text before; undefined if it is missing or damaged. */
export async function readBackup({ backup, before }: ConnectRecord): Promise<string | undefined> {
  const bytes = await readFile(backup).catch(() => undefined);
  const text = bytes && new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  return text !== undefined && sha256(text) === before ? text : undefined;
}
