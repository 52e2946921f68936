import { escapeJson } from '../../core/text/visible-text.ts';

/** Prints one JSON value to stdout. On a terminal invisible characters are escaped as JSON allows. */
export function printJson(value: unknown): void {
  const text = process.stdout.isTTY ? escapeJson(JSON.stringify(value, null, 2)) : JSON.stringify(value);
  process.stdout.write(`${text}\n`);
}
