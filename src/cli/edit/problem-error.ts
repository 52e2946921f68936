import type { Problem } from '../../config/config.ts';
import { HeddleError } from '../../core/errors.ts';

/** Returns a problem of a file as an error whose message begins with file, line and column. */
export function problemError({ code, message, fix, at }: Problem): HeddleError {
  const placed = at === undefined ? message : `${at.file}:${at.line}:${at.column}: ${message}`;
  return new HeddleError(code, placed, { fix });
}
