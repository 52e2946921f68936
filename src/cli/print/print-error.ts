import colors from 'picocolors';
import { HeddleError } from '../../core/errors.ts';
import { escapeJson } from '../../core/text/visible-text.ts';
import { indented, oneLine } from './escape-control.ts';
import { state } from './say.ts';

/** Says on stderr what happened, why, and what to do. Gives back the exit code. */
export function printError(thrown: unknown, json: boolean): number {
  const error = HeddleError.from(thrown);
  const { code, message, fix, details, exit } = error;
  if (json) process.stderr.write(`${escapeJson(JSON.stringify({ error: { code, message, fix, details } }))}\n`);
  else state({ start: `${colors.red(`error ${oneLine(code)}`)}: `, message, fix }, process.stderr);
  // A mistake of ours: without its trace nobody could mend it.
  if (code === 'INTERNAL' && error.cause instanceof Error) {
    process.stderr.write(`${indented(String(error.cause.stack), process.stderr)}\n`);
  }
  return exit;
}
