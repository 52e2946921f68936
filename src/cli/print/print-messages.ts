import colors from 'picocolors';
import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import { indented, MAX_PRINTED_CHARS } from './escape-control.ts';
import { notice } from './print-line.ts';
import { blockText } from './print-result.ts';

/** Prints the messages of a prompt: each role on a line of its own, its text below with a mark. */
export function printMessages({ description, messages }: JsonObject): void {
  if (typeof description === 'string') notice(description);
  const all = (Array.isArray(messages) ? messages : []).filter(isObject);
  if (all.length === 0) notice('The prompt has no messages.');
  for (const [at, { role, content = null }] of all.entries()) {
    const blocks = Array.isArray(content) ? content : [content];
    const text = blocks.map(blockText).join('\n').replace(/\n$/, '');
    const head = colors.bold(`${cutAndEscapeBreaks(String(role), MAX_PRINTED_CHARS)}:`);
    process.stdout.write(`${at === 0 ? '' : '\n'}${head}\n${indented(text, process.stdout)}\n`);
  }
}
