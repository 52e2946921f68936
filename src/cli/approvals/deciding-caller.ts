import { hash } from 'node:crypto';
import type { Caller } from '../../core/call.ts';
import type { Access } from '../../heddle.ts';
import { type Input, KEY_VARIABLE, type Option } from '../command.ts';
import { localCaller } from '../local-caller.ts';
import { readGivenKey, unknownApiKey } from '../remote/given-key.ts';

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
  const key = await readGivenKey(input, env);
  if (!key) return { by: localCaller(), hasKey: false };
  const known = await access.keyOf(hash('sha256', key.text));
  if (!known) throw unknownApiKey(key, ' --role approver');
  const { name, roles, profile } = known;
  return { by: { id: `key:${name}`, roles, via: 'cli', ...(profile !== undefined && { profile }) }, hasKey: true };
}
