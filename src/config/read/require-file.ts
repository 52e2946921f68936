import { HeddleError } from '../../core/errors.ts';
import type { Config } from '../config.ts';

/** Throws if the `config` option or a file that is named was not read: its rules must not be missing silently. */
export function requireFile({ files, problems }: Config): void {
  const file = files.find(({ scope, state }) => scope === 'config' && state !== 'found');
  if (!file) return;
  // A problem without a location is that of a missing file or of an option that is not an object.
  const problem = problems.find(({ at }) => at === undefined || at.file === file.file);
  const { code = 'CONFIG_INVALID', message = `${file.file} cannot be read.`, fix, at } = problem ?? {};
  throw new HeddleError(code, at ? `${at.file}:${at.line}:${at.column}: ${message}` : message, fix ? { fix } : {});
}
