import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Returns Heddle's folder of this user: `$HEDDLE_HOME`, or `~/.heddle`. */
export const homeFolder = (env: Readonly<Record<string, string | undefined>>): string =>
  resolve(env.HEDDLE_HOME || join(homedir(), '.heddle'));

/** Returns the path of the note by which commands find a running gateway. */
export const gatewayNote = (home: string): string => join(home, 'gateway.json');
