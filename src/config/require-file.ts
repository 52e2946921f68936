import { HeddleError } from '../core/errors.ts';
import type { Config } from './config.ts';

/** The rules in a file that was asked for must not be missing without a word. */
export function requireFile({ files, problems }: Config, asked: string | undefined): void {
  const file = files.find(({ scope }) => scope === 'config');
  if (asked === undefined || file?.state === 'found') return;
  const problem = problems.find(({ message, at }) => at?.file === file?.file || message.includes(String(file?.file)));
  const { code = 'CONFIG_INVALID', message = `${asked} cannot be read.`, fix, at } = problem ?? {};
  throw new HeddleError(code, at ? `${at.file}:${at.line}:${at.column}: ${message}` : message, fix ? { fix } : {});
}
