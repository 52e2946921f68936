import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { diffText } from './print-diff.ts';

it('is empty for two equal texts', () => {
  expect(diffText('a.json', 'x\n', 'x\n')).toBe('');
});

it('shows the changed lines with three lines around them', () => {
  const before = Array.from({ length: 20 }, (_, n) => `line ${n + 1}\n`).join('');
  const after = before.replace('line 10\n', 'line ten\nand a half\n');
  expect(diffText('a.txt', before, after)).toBe(
    [
      '--- a.txt',
      '+++ a.txt',
      '@@ -7,7 +7,8 @@',
      ' line 7',
      ' line 8',
      ' line 9',
      '-line 10',
      '+line ten',
      '+and a half',
      ' line 11',
      ' line 12',
      ' line 13',
      '',
    ].join('\n'),
  );
});

it('shows all lines of a new file as added', () => {
  expect(diffText('a.txt', '', '{}\n')).toBe('--- /dev/null\n+++ a.txt\n@@ -0,0 +1,1 @@\n+{}\n');
});

it('escapes control characters, so that a file cannot control the terminal', () => {
  expect(diffText('a.txt', '', '\u001b[2J\n')).toContain('+\\u{001b}[2J');
});

it('produces a diff that `patch` applies, for any two texts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-diff-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'a.txt');
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', 'd', '{', '}'), { minLength: 1, maxLength: 30 })
    .map((lines) => `${lines.join('\n')}\n`);
  fc.assert(
    fc.property(text, text, (before, after) => {
      writeFileSync(file, before);
      const diff = diffText('a.txt', before, after);
      if (diff !== '') execFileSync('git', ['apply', '-p0', '-'], { cwd: folder, input: diff });
      expect(readFileSync(file, 'utf8')).toBe(after);
    }),
    { numRuns: 40 },
  );
});
