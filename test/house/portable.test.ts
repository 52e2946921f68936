import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from './run-command.ts';
import { ROOT } from './temporary-tree.ts';

// Written in pieces, so that this file does not match itself.
const FOREIGN = new RegExp(`(?<![\\w.\\-])/${'work'}/|${'registry'}\\.npm`);
// Tests of paths need such folders.
const FOREIGN_BUT_IN_TESTS = new RegExp(`(?<![\\w.\\-])/${'(root|tmp)'}/`);
const isTest = (file: string) => file.startsWith('test/') || file.endsWith('.test.ts');

/** Every text file that is committed or could be. */
function textFiles(): readonly (readonly [string, string])[] {
  const { stdout } = runCommand(['git', 'ls-files', '--cached', '--others', '--exclude-standard']);
  return stdout
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(ROOT, file)))
    .map((file) => [file, readFileSync(join(ROOT, file), 'utf8')] as const)
    .filter(([, text]) => !text.includes('\0'));
}

it('no file contains private paths or registry hosts', () => {
  const files = textFiles();
  expect(files.length).toBeGreaterThan(10);
  const places = files.flatMap(([file, text]) =>
    text
      .split('\n')
      .flatMap((line, n) =>
        FOREIGN.test(line) || (!isTest(file) && FOREIGN_BUT_IN_TESTS.test(line)) ? [`${file}:${n + 1}`] : [],
      ),
  );
  expect(places).toEqual([]);
});
