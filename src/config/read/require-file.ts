import { HeddleError } from '../../core/errors.ts';
import type { Config } from '../config.ts';

/** The rules in a file that was asked for must not be missing without a word. */
export function requireFile({ files, problems }: Config, asked: string | undefined): void {
  const file = files.find(({ scope }) => scope === 'config');
  if (asked === undefined || file?.state === 'found') return;
  // One without a place is about a file that is not there at all.
  const problem = problems.find(({ at }) => at === undefined || at.file === file?.file);
  const { code = 'CONFIG_INVALID', message = `${asked} cannot be read.`, fix, at } = problem ?? {};
  throw new HeddleError(code, at ? `${at.file}:${at.line}:${at.column}: ${message}` : message, fix ? { fix } : {});
}
