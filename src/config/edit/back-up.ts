import { copyFile, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HeddleError } from '../../core/errors.ts';
import { replaceFile } from '../../files/edit-file.ts';
import { makeFolder } from '../../files/make-folder.ts';

const backupOf = (file: string) => `${file}.heddle-backup`;

/** Copies a file with its mode to `<file>.heddle-backup`. For a missing file, the copy is empty. */
export async function backUp(file: string): Promise<string> {
  const backup = backupOf(file);
  try {
    // An older copy may have a wider mode than the file has now.
    await rm(backup, { force: true });
    await copyFile(file, backup);
  } catch (cause) {
    if (!isAbsent(cause)) throw unwritable(backup, cause);
    makeFolder(dirname(file));
    await (await open(backup, 'w', 0o600)).close();
  }
  return backup;
}

/** Restores a file from its copy. An empty copy means that there was no file, so the file is removed. */
export async function restore(file: string): Promise<'restored' | 'removed'> {
  const backup = backupOf(file);
  const text = await readFile(backup, 'utf8').catch((cause: unknown) => {
    if (!isAbsent(cause)) throw unwritable(backup, cause);
    throw new HeddleError('USAGE_INVALID', `There is no copy to restore: ${backup} does not exist.`, {
      fix: 'Name the host, and the scope or file, of the export to undo.',
      cause,
    });
  });
  if (text === '') await rm(file, { force: true });
  else await replaceFile(file, text);
  await rm(backup, { force: true });
  return text === '' ? 'removed' : 'restored';
}

const isAbsent = (cause: unknown) => cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';

function unwritable(file: string, cause: unknown): HeddleError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : cause;
  return new HeddleError('CONFIG_INVALID', `${file} cannot be used (${code}).`, {
    fix: 'Check that its folder exists and that you may read and write there.',
    cause,
  });
}
