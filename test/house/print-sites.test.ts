import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const CLI = join(import.meta.dirname, '..', '..', 'src', 'cli');

it('the command line writes variable text only through functions that escape it', () => {
  const raw = globSync('**/*.ts', { cwd: CLI }).flatMap((file) => {
    if (file.endsWith('.test.ts')) return [];
    const text = readFileSync(join(CLI, file), 'utf8');
    const writes = text.matchAll(/std(?:out|err)\.write\(\s*([^;]*)/g);
    return [...writes].flatMap(([, written = '']) => (isSafe(written) ? [] : [`${file}: ${written.slice(0, 80)}`]));
  });
  expect(raw).toEqual([]);
});

/** A constant, JSON, or text from one of the escaping functions. */
const isSafe = (written: string): boolean =>
  /^'[^']*'\)?/.test(written) ||
  /\b(oneLine|indented|following|cutToWidth|escapeControlCharacters|escapeJson|inert|inText)\b/.test(written) ||
  WHOLE.some((start) => written.startsWith(start));

/** Text that was escaped at its source, or that contains no foreign text. */
const WHOLE = [
  '`${text}\\n`', // show-whole, print-json and the help text.
  '`${lines.slice(at, at + rows)',
  '`It has ${lines.length} lines',
  // Cells of tables are escaped in `tableOf`.
  '[title, ...rows.map(line)].join(',
  'title)',
  'line(cells))',
  "text.split('\\n').map(coloured)",
  '`${colors.bold(',
  '`${shown(question)} `',
  '`${JSON.stringify(configJsonSchema()',
  '`${JSON.stringify({ url, token, pid })}',
  "`${bold('Heddle is up.')}",
  'COMPLETION_SCRIPTS[shell]',
  '`${VERSION}\\n`',
  'bytesOf(items)', // A pipe gets a resource unchanged.
];
