import { hash } from 'node:crypto';
import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Access } from '../../heddle.ts';
import type { Input, Option } from '../command.ts';
import { textSources } from '../input/read-source.ts';
import { localCaller } from '../local-caller.ts';

/** The variable with the API key of an approver. */
const KEY_VARIABLE = 'HEDDLE_KEY';

/** The option names a file: arguments of a process are visible to other users. */
export const KEY_OPTION: Option = {
  type: 'string',
  value: 'FILE',
  help: `Decide with the API key in this file; - reads stdin (default: the variable ${KEY_VARIABLE})`,
};

export interface DecidingCaller {
  readonly by: Caller;
  /** True if a key identifies the approver, so that no terminal is needed. */
  readonly hasKey: boolean;
}

/** Returns the caller of an API key, if one is given, else the user at this terminal. Throws PERMISSION_DENIED. */
export async function decidingCaller(
  access: Pick<Access, 'keyOf'>,
  input: Input,
  env: NodeJS.ProcessEnv = process.env,
): Promise<DecidingCaller> {
  const file = input.text('key');
  const written = file === undefined ? env[KEY_VARIABLE] : await textSources().read(file);
  const key = written?.trim() ?? '';
  if (key === '' && file === undefined) return { by: localCaller(), hasKey: false };
  const known = await access.keyOf(hash('sha256', key));
  if (!known) {
    throw new HeddleError('PERMISSION_DENIED', 'The API key is unknown or revoked.', {
      fix: `Check ${file === undefined ? KEY_VARIABLE : 'the file of --key'}; \`heddle key create NAME --role approver\` makes a key.`,
    });
  }
  const { name, roles, profile } = known;
  return { by: { id: `key:${name}`, roles, via: 'cli', ...(profile !== undefined && { profile }) }, hasKey: true };
}
