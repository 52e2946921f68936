import { writeFile } from 'node:fs/promises';
import type { Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { escapeControlCharacters } from '../../core/text/visible-text.ts';
import { notice } from './print-line.ts';

/** A decoded item of `resources/read`. */
interface ReadItem {
  readonly uri: string;
  readonly type: string | undefined;
  readonly text: string | undefined;
  readonly bytes: Buffer;
}

/**
 * Prints the contents of a resource. A pipe or file gets their bytes unchanged. A terminal gets text, and a notice for
 * bytes that are no text.
 */
export async function printContents({ contents }: JsonObject, output: string | undefined): Promise<void> {
  const items = (Array.isArray(contents) ? contents : []).filter(isObject).map(toItem);
  if (items.length === 0) notice('The resource has no contents.');
  if (output !== undefined && output !== '-') return writeTo(output, bytesOf(items));
  if (output === undefined && process.stdout.isTTY) for (const item of items) show(item, items.length > 1);
  else process.stdout.write(bytesOf(items));
}

function toItem({ uri, mimeType, text, blob }: JsonObject): ReadItem {
  const isText = typeof text === 'string';
  const bytes = isText ? Buffer.from(text) : Buffer.from(typeof blob === 'string' ? blob : '', 'base64');
  const type = typeof mimeType === 'string' ? mimeType : undefined;
  return { uri: textOrNone(uri), type, text: isText ? text : undefined, bytes };
}

const textOrNone = (value: Json | undefined) => (typeof value === 'string' ? value : 'The resource');

/** Joins the bytes of all items. Between items a text ends with a line break, so that lines stay apart. */
function bytesOf(items: readonly ReadItem[]): Buffer {
  const parts = items.map(({ text, bytes }, at) =>
    at < items.length - 1 && text !== undefined && !text.endsWith('\n') ? [bytes, Buffer.from('\n')] : [bytes],
  );
  return Buffer.concat(parts.flat());
}

function show({ uri, type, text, bytes }: ReadItem, isOneOfSeveral: boolean): void {
  if (text === undefined) {
    notice(`${uri} is ${type ?? 'binary'}, ${bytes.length} bytes, and not shown on a terminal.`);
    notice('  fix: Add `--output FILE` to write it to a file.');
    return;
  }
  if (isOneOfSeveral) notice(`${uri}${type === undefined ? '' : ` (${type})`}:`);
  process.stdout.write(escapeControlCharacters(text === '' || text.endsWith('\n') ? text : `${text}\n`));
}

async function writeTo(file: string, bytes: Buffer): Promise<void> {
  try {
    await writeFile(file, bytes);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new HeddleError('USAGE_INVALID', `The file ${file} cannot be written: ${code ?? String(cause)}.`, {
      cause,
      fix: 'Name another file with --output.',
    });
  }
  notice(`Wrote ${bytes.length} bytes to ${file}.`);
}
