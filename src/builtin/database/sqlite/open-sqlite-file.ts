import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { DatabaseFailure } from '../database-failure.ts';
import type { ChildFile } from './child-messages.ts';

export interface OpenSqliteFile {
  readonly db: DatabaseSync;
  /** True if a writer began while the file was read without locks: the rows may be wrong. */
  isStale(): boolean;
}

/** A WAL database that only a writable connection can recover. */
export class SideFileMissing extends DatabaseFailure {}

/** The longest text or blob that a statement can make or read. */
const MAX_VALUE_BYTES = 16 * 1024 * 1024;
const LIMITS = {
  ...{ attach: 0, length: MAX_VALUE_BYTES, sqlLength: 128 * 1024, likePatternLength: 1024, exprDepth: 500 },
  ...{ variableNumber: 32_766, triggerDepth: 100 },
};
const HEADER = Buffer.from('SQLite format 3\0', 'latin1');
/** The place in the header that says how the file is read: 2 is WAL. */
const READ_VERSION = 19;
const WAL = 2;

/** Opens the database file for one statement. Nothing of the statement before it is left. */
export function openSqliteFile(request: ChildFile, mode: 'read' | 'write'): OpenSqliteFile {
  const file = resolveFile(request.file);
  const isWal = inspectFile(file);
  // Reading a WAL database makes its side files. If it has none, no program writes, and it is read without locks.
  const before = mode === 'read' && isWal ? versionWithoutWriter(file) : undefined;
  const location = before === undefined ? file : `${pathToFileURL(file).href}?immutable=1`;
  const db = openDatabase(location, request.busyMs, mode);
  return { db, isStale: () => before !== undefined && before !== versionWithoutWriter(file) };
}

function openDatabase(location: string, busyMs: number, mode: 'read' | 'write'): DatabaseSync {
  if (!('setAuthorizer' in DatabaseSync.prototype && 'enableDefensive' in DatabaseSync.prototype)) throw tooOld();
  const db = new DatabaseSync(location, {
    ...{ readOnly: mode === 'read', timeout: busyMs, limits: LIMITS, readBigInts: true, returnArrays: true },
    ...{ allowExtension: false, defensive: true, enableDoubleQuotedStringLiterals: false },
    ...{ allowBareNamedParameters: false, allowUnknownNamedParameters: false },
  });
  try {
    // An older Node ignores the option.
    if (db.limits?.attach !== 0) throw tooOld();
    // Sorting uses memory, which the limit of the process bounds, and no file.
    db.exec('PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON');
    return db;
  } catch (thrown) {
    db.close();
    throw thrown;
  }
}

const tooOld = () =>
  failed(`Node ${process.versions.node} cannot confine SQLite (no authorizer or limits). Install Node 24.15 or newer`);

/** Returns the path without links. SQLite keeps the side files beside the file itself, not beside a link to it. */
function resolveFile(file: string): string {
  try {
    return realpathSync(file);
  } catch (thrown) {
    throw explainOpen(thrown);
  }
}

/** Returns true for a WAL database. Throws for anything that is not a file with a database. */
function inspectFile(file: string): boolean {
  const header = Buffer.alloc(READ_VERSION + 1);
  try {
    // Before it is opened: a pipe without a writer would block.
    if (!statSync(file).isFile()) throw failed('It is a folder, a device or a pipe. Name a database file');
    const descriptor = openSync(file, 'r');
    try {
      // SQLite takes an empty file as an empty database.
      if (readSync(descriptor, header, 0, header.length, 0) === 0) return false;
    } finally {
      closeSync(descriptor);
    }
  } catch (thrown) {
    throw explainOpen(thrown);
  }
  if (header.subarray(0, HEADER.length).equals(HEADER)) return header[READ_VERSION] === WAL;
  throw failed('It is not an SQLite database, or it is encrypted. Name another file');
}

/** Explains an error of the file system, whose own message would have the path. */
export function explainOpen(thrown: unknown): unknown {
  const { code, syscall } = thrown as NodeJS.ErrnoException;
  if (thrown instanceof DatabaseFailure || syscall === undefined) return thrown;
  if (code === 'ENOENT' || code === 'ENOTDIR') return failed('It does not exist. Check the path in the configuration');
  if (code === 'EACCES' || code === 'EPERM') {
    return failed('This process may not read it. Give its user permission to read the file and its folders');
  }
  return failed(`It cannot be read (${code}). Check the file`);
}

/** Returns size and times of a WAL database that no program writes; undefined if one does. */
function versionWithoutWriter(file: string): string | undefined {
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false });
  const index = statSync(`${file}-shm`, { throwIfNoEntry: false });
  // A journal is left from a switch to WAL mode that was cut off. SQLite handles it.
  if ((log && index) || statSync(`${file}-journal`, { throwIfNoEntry: false })) return undefined;
  if (log && log.size > 0) {
    throw new SideFileMissing(
      'CONNECTION_FAILED',
      'The database file cannot be used. It is in WAL mode with changes in its side file "-wal", but its side file ' +
        '"-shm" is missing. Open it once with a program that may write it, which merges them.',
    );
  }
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}

const failed = (reason: string) =>
  new DatabaseFailure('CONNECTION_FAILED', `The database file cannot be used. ${reason}.`);
