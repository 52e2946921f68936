import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { HeddleError } from '../core/errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the user's home folder. An environment that a program made has the one it names, or none. */
export function userHomeOf(env: Environment): string | undefined {
  if (env === process.env) return homedir();
  return (process.platform === 'win32' && env.USERPROFILE) || env.HOME || undefined;
}

/** Returns Heddle's folder of this user: `$HEDDLE_HOME`, or `~/.heddle`. Throws USAGE_INVALID if there is neither. */
export function homeFolder(env: Environment): string {
  if (env.HEDDLE_HOME) return resolve(env.HEDDLE_HOME);
  const userHome = userHomeOf(env);
  if (userHome !== undefined) return resolve(userHome, '.heddle');
  const message = 'The environment has neither HOME nor HEDDLE_HOME, so Heddle has no folder.';
  throw new HeddleError('USAGE_INVALID', message, { fix: 'Set HOME or HEDDLE_HOME in `env`.' });
}

/** Returns the path of the note by which commands find a running gateway. */
export const gatewayNote = (home: string): string => join(home, 'gateway.json');
