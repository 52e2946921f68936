import type { CompleteResult } from '../../core/call/run-to-completion.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { cutAndEscapeBreaks, cutText } from '../../core/text/cut-text.ts';
import { escapeControlCharacters } from '../../core/text/visible-text.ts';
import { indented, MAX_PRINTED_CHARS } from './escape-control.ts';
import { printJson } from './print-json.ts';
import { notice } from './print-line.ts';

const MAX_FAILURE_CHARS = 100_000;

/** Prints a tool result. Returns the exit code: 0, or 1 for `isError`. */
export function printResult({ value, isError }: CompleteResult, json: boolean): number {
  if (json) printJson(value);
  else if (isError) printFailure(textOf(value));
  else printText(textOf(value));
  return isError ? 1 : 0;
}

/** Writes the text of a failed result to stderr. */
function printFailure(text: string): void {
  process.stderr.write(`${indented(cutText(text, MAX_FAILURE_CHARS).trimEnd(), process.stderr)}\n`);
  if (text.length > MAX_FAILURE_CHARS) notice(`It has ${text.length} characters; --json prints them all.`);
}

/** Writes text to stdout, with one line break at its end. A pipe gets it unchanged. */
export function printText(text: string): void {
  const whole = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  process.stdout.write(process.stdout.isTTY ? escapeControlCharacters(whole) : whole);
}

function textOf({ content, structuredContent }: JsonObject): string {
  const blocks = Array.isArray(content) ? content.map(blockText) : [];
  if (blocks.length > 0) return blocks.join('\n');
  return structuredContent === undefined ? '' : JSON.stringify(structuredContent, null, 2);
}

/** Formats a content block as text. Blocks without text are named; `--json` prints them in full. */
export function blockText(block: Json): string {
  if (!isObject(block)) return JSON.stringify(block);
  const { type, text, data, mimeType, resource, uri } = block;
  if (type === 'text' && typeof text === 'string') return text;
  if (type === 'resource' && isObject(resource) && typeof resource.text === 'string') return resource.text;
  if (type === 'resource_link') return cutAndEscapeBreaks(String(uri), MAX_PRINTED_CHARS);
  const size = typeof data === 'string' ? `, ${data.length} base64 characters` : '';
  const named = `${type}${typeof mimeType === 'string' ? ` ${mimeType}` : ''}`;
  return `[${cutAndEscapeBreaks(named, MAX_PRINTED_CHARS)}${size}; --json shows it]`;
}
