import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, temporaryTree } from './temporary-tree.ts';

// Escaping takes about 3 µs per character, so it is never done for a text that is cut afterwards.
const CUT_AFTERWARDS =
  /cutText\(\s*(?:oneLine|escapeControlCharacters)\(|(?:oneLine|escapeControlCharacters)\(.*\)\.slice\(/;
/** The function that cuts a text before and after. */
const ALLOWED = 'src/core/text/cut-text.ts';

/** Lists the lines of source files that escape a whole text and then cut it. */
function findCutAfterwards(root: string): readonly string[] {
  return readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true }).flatMap((entry) => {
    if (!entry.isFile() || !entry.name.endsWith('.ts') || entry.name.endsWith('.test.ts')) return [];
    const file = join(entry.parentPath, entry.name);
    const path = file.slice(root.length + 1).replaceAll('\\', '/');
    const lines = path === ALLOWED ? [] : readFileSync(file, 'utf8').split('\n');
    return lines.flatMap((line, at) => (CUT_AFTERWARDS.test(line) ? [`${path}:${at + 1}`] : []));
  });
}

it('finds no text that is escaped as a whole and then cut', () => {
  expect(findCutAfterwards(ROOT)).toEqual([]);
});

it('names a line that escapes a text and then cuts it', () => {
  const written = {
    'src/a.ts': 'const a = cutText(oneLine(text), 80);\nconst b = `${oneLine(id).slice(0, 80)}`;\n',
    'src/b.ts': 'const c = cutAndEscapeBreaks(text, 80);\nconst d = oneLine(text.slice(0, 80));\n',
  };
  expect(findCutAfterwards(temporaryTree({ written }))).toEqual(['src/a.ts:1', 'src/a.ts:2']);
});
