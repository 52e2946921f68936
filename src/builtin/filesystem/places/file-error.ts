import { quote, ToolFailure } from '../../tool-failure.ts';

/** Thrown for a symbolic link whose target is outside the roots. */
export class OutsideRoots extends Error {}

type Reasons = Readonly<Record<string, string>>;

const REASONS: Reasons = {
  ENOENT: 'does not exist. List the directory above it to see what there is',
  ENOTDIR: 'does not exist: a part of the path before its end is not a directory. List that directory first',
  EACCES: 'may not be read by this server. Choose another one, or have its permissions changed',
  EPERM: 'may not be read by this server. Choose another one, or have its permissions changed',
  ELOOP: 'goes through too many symbolic links, or in a circle. Name the file itself',
  ENAMETOOLONG: 'is too long for a path. Shorten it',
};

const NOT_WRITABLE = 'may not be written by this server. Choose another place, or have the permissions changed';
const WRITE_REASONS: Reasons = {
  ...REASONS,
  ENOENT: 'is in a directory that does not exist. Create it, or set createDirs to true',
  EACCES: NOT_WRITABLE,
  EPERM: NOT_WRITABLE,
  EROFS: 'is on a file system that is mounted read-only. Choose another place',
  ENOSPC: 'cannot be written: the disk is full. Nothing has changed. Have space freed, then write again',
  EDQUOT: 'cannot be written: the disk quota is used up. Nothing has changed. Have space freed, then write again',
  EFBIG: 'cannot be written: the file system does not take a file of this size. Nothing has changed. Write less',
  EBUSY: 'is in use by the system, such as a mount point. Nothing has changed. Choose another name',
  EISDIR: 'is a directory. Choose the name of a file',
};

export interface FileErrorContext {
  /** The path as the caller wrote it. */
  readonly path: string;
  /** The allowed roots, for the message. */
  readonly roots: string;
  readonly writes?: boolean;
}

/** Converts a file system error to a `ToolFailure` with a message for the model. Returns other errors unchanged. */
export function explainFileError(thrown: unknown, { path: written, roots, writes = false }: FileErrorContext): unknown {
  const path = quote(written);
  if (thrown instanceof OutsideRoots) {
    const reason = 'is a symbolic link, or goes through one, that leads outside the allowed roots';
    return new ToolFailure(`${path} ${reason}. Use a path that stays inside: ${roots}.`);
  }
  const reason = (writes ? WRITE_REASONS : REASONS)[fileErrorCode(thrown) ?? ''];
  return reason ? new ToolFailure(`${path} ${reason}. Allowed roots: ${roots}.`, { cause: thrown }) : thrown;
}

/** Returns the code of a file system error, such as ENOENT. */
export function fileErrorCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}
