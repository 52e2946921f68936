import { randomUUID } from 'node:crypto';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Finding } from '../core/records/finding.ts';

/** The cause of a failed write, and its fix. */
export interface WriteTrouble {
  readonly reason: string;
  readonly fix: string;
}

const PROBE_BYTES = 1024 * 1024;
const FEW_BYTES = 64 * 1024 * 1024;
const ELSEWHERE = 'or set `store` to a path on another disk';

const NOT_ALLOWED: WriteTrouble = {
  reason: 'this user may not write there',
  fix: 'Change the owner or the mode of the folder, or set `HEDDLE_HOME`.',
};
const OTHER_FOLDER = 'Set `HEDDLE_HOME` to a folder that this user may write, or `store` to another path.';

const TROUBLES: Readonly<Record<string, WriteTrouble>> = {
  ENOSPC: { reason: 'no space is left on its disk', fix: `Free some space there, ${ELSEWHERE}.` },
  EDQUOT: { reason: 'the disk quota of this user is used up', fix: `Free some space there, ${ELSEWHERE}.` },
  EFBIG: { reason: 'no file there may grow any larger (`ulimit -f`)', fix: `Raise the limit, ${ELSEWHERE}.` },
  EROFS: { reason: 'its disk is read-only', fix: `Mount it writable, ${ELSEWHERE}.` },
  EACCES: NOT_ALLOWED,
  EPERM: NOT_ALLOWED,
  ENOENT: { reason: 'its folder does not exist and cannot be created', fix: OTHER_FOLDER },
  EEXIST: { reason: 'a part of its path is a file, or a link to nothing', fix: OTHER_FOLDER },
  ENOTDIR: { reason: 'a part of its path is a file', fix: OTHER_FOLDER },
  EISDIR: { reason: 'it is a folder', fix: 'Move the folder away, or set `store` to another path.' },
  ELOOP: { reason: 'its path has a symbolic link that never ends', fix: OTHER_FOLDER },
  ENAMETOOLONG: { reason: 'its path is too long', fix: OTHER_FOLDER },
};

/** Tests a folder by writing a file there. Returns undefined on success. */
export async function findWriteTrouble(folder: string): Promise<WriteTrouble | undefined> {
  const probe = join(folder, `.heddle-probe-${randomUUID()}`);
  try {
    await writeFile(probe, Buffer.alloc(PROBE_BYTES), { mode: 0o600, flush: true });
    return undefined;
  } catch (thrown) {
    return troubleOf(thrown) ?? { reason: (thrown as Error).message, fix: 'Check the folder and its disk.' };
  } finally {
    await rm(probe, { force: true }).catch(() => {});
  }
}

/** Explains an error of the file system; returns undefined for any other. */
export function troubleOf(thrown: unknown): WriteTrouble | undefined {
  const { code } = thrown as NodeJS.ErrnoException;
  return code !== undefined && Object.hasOwn(TROUBLES, code) ? TROUBLES[code] : undefined;
}

/** Tests whether the file of a store can grow. */
export async function examineStoreFile(file: string): Promise<Finding> {
  const subject = 'store';
  const folder = dirname(file);
  const trouble = await findWriteTrouble(folder);
  if (trouble)
    return {
      level: 'error',
      subject,
      message: `Nothing can be written to ${folder}: ${trouble.reason}.`,
      fix: trouble.fix,
    };
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const message = `${file}, ${Math.floor(free / 1024 / 1024)} MB free`;
  if (free >= FEW_BYTES) return { level: 'ok', subject, message };
  return { level: 'warn', subject, message, fix: `Free some space in ${folder}, ${ELSEWHERE}.` };
}
