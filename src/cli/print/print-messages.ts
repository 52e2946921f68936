import colors from 'picocolors';
import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { indented, oneLine } from './escape-control.ts';
import { notice } from './print-line.ts';
import { blockText } from './print-result.ts';

/** Prints the messages of a prompt: each role on a line of its own, its text below with a mark. */
export function printMessages({ description, messages }: JsonObject): void {
  if (typeof description === 'string') notice(description);
  const all = (Array.isArray(messages) ? messages : []).filter(isObject);
  if (all.length === 0) notice('The prompt has no messages.');
  const parts = all.map(({ role, content = null }) => {
    const blocks = Array.isArray(content) ? content : [content];
    const text = blocks.map(blockText).join('\n');
    return `${colors.bold(`${oneLine(String(role))}:`)}\n${indented(text.replace(/\n$/, ''), process.stdout)}\n`;
  });
  process.stdout.write(parts.join('\n'));
}
