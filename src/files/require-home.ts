import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { HeddleError } from '../core/errors.ts';

const SHOWN_CHARACTERS = 200;

const REASONS: Readonly<Record<string, string>> = {
  ENOTDIR: 'a part of its path is a file',
  EACCES: 'this user may not read it',
  ELOOP: 'its path has a symbolic link that never ends',
  ENAMETOOLONG: 'its path is too long',
};

/** Throws CONFIG_INVALID if Heddle's folder of this user cannot be read. One that is missing is created when needed. */
export function requireHome(home: string): void {
  const reason = findReason(home);
  if (reason === undefined) return;
  const shown = home.length > SHOWN_CHARACTERS ? `${home.slice(0, SHOWN_CHARACTERS)}…` : home;
  throw new HeddleError('CONFIG_INVALID', `Heddle's folder ${shown} cannot be used: ${reason}.`, {
    fix: 'Set `HEDDLE_HOME` to a folder that this user may read and write.',
  });
}

function findReason(home: string): string | undefined {
  try {
    const found = statSync(home, { throwIfNoEntry: false });
    if (!found) return lstatSync(home, { throwIfNoEntry: false }) ? 'it is a symbolic link to nothing' : undefined;
    if (!found.isDirectory()) return 'it is not a folder';
    accessSync(home, constants.R_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    return REASONS[code] ?? message;
  }
}
