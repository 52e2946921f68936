import { escapeJson } from '../../core/text/visible-text.ts';

/** Data for programs: one JSON value on stdout. On a terminal, what does not show is escaped, which JSON allows. */
export function printJson(value: unknown): void {
  const text = process.stdout.isTTY ? escapeJson(JSON.stringify(value, null, 2)) : JSON.stringify(value);
  process.stdout.write(`${text}\n`);
}
