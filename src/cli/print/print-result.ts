import type { CompleteResult } from '../../core/call/run-to-completion.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { escapeControlCharacters, indented, oneLine } from './escape-control.ts';
import { printJson } from './print-json.ts';

/** Prints what a tool answered. Gives back the exit code: 0, or 1 when the answer is an error. */
export function printResult({ value, isError }: CompleteResult, json: boolean): number {
  if (json) printJson(value);
  else if (isError) process.stderr.write(`${indented(textOf(value).trimEnd(), process.stderr)}\n`);
  else show(process.stdout, textOf(value));
  return isError ? 1 : 0;
}

function show(stream: NodeJS.WriteStream, text: string): void {
  const shown = stream.isTTY ? escapeControlCharacters(text) : text;
  stream.write(shown === '' || shown.endsWith('\n') ? shown : `${shown}\n`);
}

function textOf({ content, structuredContent }: JsonObject): string {
  const parts = Array.isArray(content) ? content.map(partText) : [];
  if (parts.length > 0) return parts.join('\n');
  return structuredContent === undefined ? '' : JSON.stringify(structuredContent, null, 2);
}

/** A part of the answer as text; what is none is named, and `--json` has it whole. */
function partText(part: Json): string {
  if (!isObject(part)) return JSON.stringify(part);
  const { type, text, data, mimeType, resource, uri } = part;
  if (type === 'text' && typeof text === 'string') return text;
  if (type === 'resource' && isObject(resource) && typeof resource.text === 'string') return resource.text;
  if (type === 'resource_link') return oneLine(String(uri));
  const size = typeof data === 'string' ? `, ${data.length} base64 characters` : '';
  return oneLine(`[${type}${typeof mimeType === 'string' ? ` ${mimeType}` : ''}${size}; --json shows it]`);
}
