import { HeddleError } from '../../core/errors.ts';
import { type Input, KEY_VARIABLE } from '../command.ts';
import { textSources } from '../input/read-source.ts';

/** An API key that a command acts with. */
export interface GivenKey {
  readonly text: string;
  /** The variable or option that has it, for messages. */
  readonly source: string;
}

/** Returns true if a command is to act as an API key. Throws USAGE_INVALID if the variable is empty. */
export function isKeyGiven(input: Input, env: NodeJS.ProcessEnv = process.env): boolean {
  if (input.text('key') !== undefined) return true;
  const key = env[KEY_VARIABLE];
  if (key?.trim() === '') throw emptyKey();
  return key !== undefined;
}

/** Reads the API key of `--key FILE`, else that of the variable; undefined without one. */
export async function readGivenKey(input: Input, env: NodeJS.ProcessEnv = process.env): Promise<GivenKey | undefined> {
  if (!isKeyGiven(input, env)) return undefined;
  const file = input.text('key');
  if (file?.startsWith('hk_')) throw notFile();
  const written = file === undefined ? env[KEY_VARIABLE] : await textSources().read(file);
  return { text: written?.trim() ?? '', source: file === undefined ? KEY_VARIABLE : 'the file of --key' };
}

/** Returns the error for a variable without a key. A CI job that lacks the secret sets it so, and would run with all rights. */
const emptyKey = (): HeddleError =>
  new HeddleError('USAGE_INVALID', `${KEY_VARIABLE} is set and empty.`, {
    fix: 'Set it to an API key, or unset it to run as the user of this machine.',
  });

/** Returns the error for a key given in place of a file. Other users of the machine can see the arguments of a command. */
const notFile = (): HeddleError =>
  new HeddleError('USAGE_INVALID', '`--key` takes a file, not the API key itself.', {
    fix: `Set ${KEY_VARIABLE}, or write the key into a file; \`--key -\` reads it from stdin.`,
  });

/** Returns the error of a key that does not exist. It does not quote the key. */
export const unknownApiKey = ({ source }: GivenKey, options = ''): HeddleError =>
  new HeddleError('PERMISSION_DENIED', 'The API key is unknown or revoked.', {
    fix: `Check ${source}; \`heddle key create NAME${options}\` makes a key.`,
  });
