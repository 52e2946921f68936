import colors from 'picocolors';
import type { JsonObject } from '../../core/call.ts';
import { ERRORS } from '../../core/error-codes.ts';
import { HeddleError } from '../../core/errors.ts';
import { cutText } from '../../core/text/cut-text.ts';
import { previewJson } from '../../core/text/preview-json.ts';
import { escapeJson, oneLine } from '../../core/text/visible-text.ts';
import { indented, MAX_PRINTED_CHARS } from './escape-control.ts';
import { printStatement } from './print-line.ts';

/** Prints an error and its fix to stderr. Returns the exit code. */
export function printError(thrown: unknown, json: boolean): number {
  const error = HeddleError.from(thrown);
  const { code, message, fix } = error;
  if (json) process.stderr.write(`${escapeJson(JSON.stringify({ error: cutError(error) }))}\n`);
  else printStatement({ start: `${colors.red(`error ${oneLine(code)}`)}: `, message, fix }, process.stderr);
  // A bug in Heddle: its report needs the stack trace.
  if (code === 'INTERNAL' && error.cause instanceof Error) {
    process.stderr.write(`${indented(cutText(String(error.cause.stack), MAX_PRINTED_CHARS), process.stderr)}\n`);
  }
  return ERRORS[code].exit;
}

/** Returns the parts of an error for JSON. Text of servers is cut; details that are larger become the beginning of their JSON. */
function cutError({ code, message, fix, details }: HeddleError): JsonObject {
  const preview = previewJson(details, MAX_PRINTED_CHARS);
  const isCut = preview.length > MAX_PRINTED_CHARS;
  return {
    code,
    message: cutText(message, MAX_PRINTED_CHARS),
    fix: cutText(fix, MAX_PRINTED_CHARS),
    details: isCut ? { cut: preview } : details,
  };
}
