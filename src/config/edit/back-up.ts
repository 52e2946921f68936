import { copyFile, mkdir, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HeddleError } from '../../core/errors.ts';
import { replaceFile } from '../../files/edit-file.ts';

const backupOf = (file: string) => `${file}.heddle-backup`;

/** Copies a file, its mode too, beside itself. A file that is not there leaves an empty copy. */
export async function backUp(file: string): Promise<string> {
  const backup = backupOf(file);
  try {
    // An older copy may be readable by more people than the file is now.
    await rm(backup, { force: true });
    await copyFile(file, backup);
  } catch (cause) {
    if (!isAbsent(cause)) throw unwritable(backup, cause);
    await mkdir(dirname(file), { recursive: true });
    await (await open(backup, 'w', 0o600)).close();
  }
  return backup;
}

/** Puts the copy back; where it is empty there was no file, and there is none again. */
export async function restore(file: string): Promise<'restored' | 'removed'> {
  const backup = backupOf(file);
  const text = await readFile(backup, 'utf8').catch((cause: unknown) => {
    if (!isAbsent(cause)) throw unwritable(backup, cause);
    throw new HeddleError('USAGE_INVALID', `There is no copy to put back: ${backup} does not exist.`, {
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
