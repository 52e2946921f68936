import colors from 'picocolors';
import { ERRORS } from '../../core/error-codes.ts';
import { HeddleError } from '../../core/errors.ts';
import { escapeJson, oneLine } from '../../core/text/visible-text.ts';
import { indented } from './escape-control.ts';
import { printStatement } from './print-line.ts';

/** Prints an error and its fix to stderr. Returns the exit code. */
export function printError(thrown: unknown, json: boolean): number {
  const error = HeddleError.from(thrown);
  const { code, message, fix, details } = error;
  if (json) process.stderr.write(`${escapeJson(JSON.stringify({ error: { code, message, fix, details } }))}\n`);
  else printStatement({ start: `${colors.red(`error ${oneLine(code)}`)}: `, message, fix }, process.stderr);
  // A bug in Heddle: its report needs the stack trace.
  if (code === 'INTERNAL' && error.cause instanceof Error) {
    process.stderr.write(`${indented(String(error.cause.stack), process.stderr)}\n`);
  }
  return ERRORS[code].exit;
}
