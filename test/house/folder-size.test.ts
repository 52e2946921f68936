import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, temporaryTree } from './temporary-tree.ts';

const MAX_FILES = 30;
/** Folders with more files, because they hold a list of like things. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'src/cli/commands': 'one file per command',
  'src/config/hosts': 'one file per host application, and the codecs that they share',
};

const isCounted = (name: string) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'fixtures.ts';

/** Returns each folder under `src` with its number of source files; tests and fixtures are not counted. */
function countFiles(root: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const entry of readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !isCounted(entry.name)) continue;
    const folder = entry.parentPath.slice(root.length + 1).replaceAll('\\', '/');
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return counts;
}

const findLarge = (root: string) =>
  [...countFiles(root)].filter(([folder, count]) => count > MAX_FILES && !Object.hasOwn(EXCEPTIONS, folder));

it('finds no folder under src with more than 30 source files, except the named ones', () => {
  expect(findLarge(ROOT)).toEqual([]);
});

it('names a folder with 31 source files', () => {
  const files = Array.from({ length: MAX_FILES + 1 }, (_, at) => [`src/core/planted-${at}.ts`, ''] as const);
  const written = { ...Object.fromEntries(files), 'src/core/planted.test.ts': '', 'src/core/fixtures.ts': '' };
  expect(findLarge(temporaryTree({ written }))).toEqual([['src/core', 31]]);
});

it('lists only exceptions that are needed', () => {
  const counts = countFiles(ROOT);
  for (const folder of Object.keys(EXCEPTIONS)) expect(counts.get(folder), folder).toBeGreaterThan(MAX_FILES);
});

it('names only existing folders in AGENTS.md and in the import table', () => {
  const table = readFileSync(join(ROOT, '.dependency-cruiser.cjs'), 'utf8').split('const UNTESTED')[0] ?? '';
  const rows = [...table.matchAll(/^ {2}'?([\w.-]+)'?: \[/gm)].map(([, name]) => `src/${name}`);
  const named = readFileSync(join(ROOT, 'AGENTS.md'), 'utf8').match(/`((?:src|test|docs|web)\/[\w./-]*)`/g) ?? [];
  const paths = [...rows, ...named.map((path) => path.slice(1, -1))];
  expect(rows.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
