import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from './run-command.ts';
import { ROOT } from './temporary-tree.ts';

const SOURCE = join(ROOT, 'src');
const section = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8')
  .split('\n## One call, followed\n')[1]
  ?.split('\n## ')[0];
const filesIn = (text: string) => [...text.matchAll(/`([\w./-]+\.ts)`/g)].map(([, file = '']) => file);

/** The files that connect others, in square brackets. Only closures of theirs run during a call. */
const wiring = filesIn([...(section ?? '').matchAll(/\[[^\]]*\]/g)].join(' '));
const passed = filesIn((section ?? '').replaceAll(/\[[^\]]*\]/g, ''));

const isListable = (file: string) => !file.startsWith('core/') && !wiring.includes(file);

/** The files that a file imports, types included. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(SOURCE, file), 'utf8');
  const paths = [...text.matchAll(/(?:from|import\() ?'(\.[^']+)'/g)].map(([, path = '']) => path);
  return paths.map((path) => relative(SOURCE, join(SOURCE, dirname(file), path)));
}

/** Returns the listed files that are missing in src, or that no other listed file imports. */
function unreachable(listed: readonly string[], wires: readonly string[]): string[] {
  const all = [...new Set([...listed, ...wires])];
  const missing = all.filter((file) => !existsSync(join(SOURCE, file)));
  const present = all.filter((file) => !missing.includes(file));
  const imported = new Set(present.flatMap(importsOf));
  const [entry] = listed;
  return [...missing, ...present.filter((file) => file !== entry && !wires.includes(file) && !imported.has(file))];
}

it('ARCHITECTURE.md lists files that exist and that import one another', () => {
  expect(passed.length).toBeGreaterThan(50);
  expect(unreachable(passed, wiring)).toEqual([]);
});

it('names a listed file that is missing or that no other one imports', () => {
  expect(unreachable([...passed, 'gateway/gone.ts'], wiring)).toEqual(['gateway/gone.ts']);
  expect(unreachable([...passed, 'translate/anthropic.ts'], wiring)).toEqual(['translate/anthropic.ts']);
});

it('ARCHITECTURE.md lists every file outside of core/ that runs during a call, and no other', () => {
  const { code, stdout, stderr } = runCommand(['node', 'test/house/trace-call.ts'], { cwd: ROOT });
  expect([code, stderr]).toEqual([0, '']);
  const run = (JSON.parse(stdout) as string[]).filter(isListable);
  expect(run).toEqual([...new Set(passed)].sort());
});
