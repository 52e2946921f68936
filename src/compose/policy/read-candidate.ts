import { resolve } from 'node:path';
import type { LoadedPolicy, Problem } from '../../config/config.ts';
import { STRICT_NOTICE } from '../../config/read/strict-by-error.ts';
import { compilePolicies } from '../../config/sources/compile-policies.ts';
import { readPolicyFile } from '../../config/sources/policy-files.ts';
import { HeddleError } from '../../core/errors.ts';

/** Reads the rules of a candidate, written as a policy file. Throws CONFIG_INVALID at its first error. */
export async function readCandidate(file: string): Promise<readonly LoadedPolicy[]> {
  const { layer, source } = await readPolicyFile(resolve(file), { scope: 'config' });
  if (source.state === 'absent') {
    throw new HeddleError('CONFIG_INVALID', `${file} does not exist.`, { fix: 'Check the path of `--candidate`.' });
  }
  const { policies = [], problems } = await compilePolicies([layer], { remembered: undefined, isExclusive: false });
  const [error] = [...layer.problems, ...problems].filter(({ level }) => level === 'error');
  if (error) throw problemOf(error);
  return policies;
}

function problemOf({ code, message, fix, at }: Problem): HeddleError {
  const place = at === undefined ? '' : `${at.file}:${at.line}:${at.column}: `;
  // The consequence is that of a file in force.
  return new HeddleError(code, `${place}${message.replace(` ${STRICT_NOTICE}`, '')}`, { fix });
}
