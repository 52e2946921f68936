import colors from 'picocolors';
import { HeddleError } from '../core/errors.ts';
import { inert } from './inert.ts';

/** Says on stderr what happened, why, and what to do. Gives back the exit code. */
export function printError(thrown: unknown, json: boolean): number {
  const error = HeddleError.from(thrown);
  const { code, message, fix, details, exit } = error;
  if (json) process.stderr.write(`${JSON.stringify({ error: { code, message, fix, details } })}\n`);
  else process.stderr.write(`${colors.red(`error ${code}`)}: ${inert(message)}\n  fix: ${inert(fix)}\n`);
  // A mistake of ours: without its trace nobody could mend it.
  if (code === 'INTERNAL' && error.cause instanceof Error) process.stderr.write(`${error.cause.stack}\n`);
  return exit;
}
