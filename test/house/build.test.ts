import { existsSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { runCommand } from './run-command.ts';
import { temporaryTree } from './temporary-tree.ts';

const SCRIPTS = ['tools/build.mjs', 'tools/install.mjs', 'tools/child.mjs'];
const COMPILER = 'node_modules/typescript/bin/tsc';
const INSTALLED = 'node_modules/.package-lock.json';

const lockfile = (typescript: string) => {
  const packages = {
    'node_modules/typescript': { version: typescript, dev: true },
    'node_modules/other-platform': { version: '1.0.0', dev: true, optional: true },
  };
  return JSON.stringify({ packages: { '': { name: 'heddle' }, ...packages } });
};
const installed = (typescript: string) =>
  JSON.stringify({ packages: { 'node_modules/typescript': { version: typescript, dev: true } } });

/** A compiler that writes one file, as the real one does with `outDir`. */
const WRITES_DIST = `#!/usr/bin/env node
const { mkdirSync, writeFileSync } = require('node:fs');
mkdirSync('dist', { recursive: true });
writeFileSync('dist/index.js', process.argv.slice(2).join(' '));
`;
// Removes and writes node_modules, as \`npm ci\` does.
const NPM = `#!/bin/sh
echo "$@" > npm-arguments
rm -rf node_modules
mkdir -p node_modules/.bin node_modules/typescript/bin
cp package-lock.json ${INSTALLED}
cp compiler ${COMPILER}
touch node_modules/.bin/vitest
ln -s '${process.execPath}' node_modules/.bin/node
`;
const CLONE = { 'package-lock.json': lockfile('6.0.3'), 'fake/npm': NPM, compiler: WRITES_DIST };
const NODE_MODULES = {
  [INSTALLED]: installed('6.0.3'),
  [COMPILER]: WRITES_DIST,
  'node_modules/.bin/vitest': '',
  'node_modules/.bin/node': `#!/bin/sh\nexec '${process.execPath}' "$@"\n`,
};

function build(written: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const cwd = temporaryTree({ copied: SCRIPTS, written });
  const run = () =>
    runCommand([process.execPath, 'tools/build.mjs', ...args], {
      cwd,
      env: { PATH: `${join(cwd, 'fake')}:${process.env.PATH}` },
    });
  const isInstalled = () => existsSync(join(cwd, 'npm-arguments'));
  return { cwd, run, isInstalled, dist: () => readFileSync(join(cwd, 'dist/index.js'), 'utf8') };
}

verifies(
  'L6',
  'a build leaves an installed node_modules alone, also if a checkout has written the lockfile since',
  () => {
    const { cwd, run, isInstalled, dist } = build({ ...CLONE, ...NODE_MODULES });
    utimesSync(join(cwd, INSTALLED), 1, 1); // Older than the lockfile, which has the same packages.
    const state = () => [INSTALLED, COMPILER].map((file) => statSync(join(cwd, file)));
    const before = state();
    expect(run()).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(isInstalled()).toBe(false);
    expect(state().map(({ ino, mtimeMs }) => ({ ino, mtimeMs }))).toEqual(
      before.map(({ ino, mtimeMs }) => ({ ino, mtimeMs })),
    );
    expect(dist()).toBe('-p tsconfig.build.json');
  },
);

verifies('L6', 'a build in a clone without node_modules installs first', () => {
  const { run, isInstalled, dist } = build(CLONE);
  expect(run()).toMatchObject({ code: 0, stderr: expect.stringContaining('(npm ci) …') });
  expect(isInstalled()).toBe(true);
  expect(dist()).toBe('-p tsconfig.build.json');
  expect(run()).toMatchObject({ code: 0, stderr: '' });
});

it.each([
  ['another version', installed('6.0.2')],
  ['no such package', JSON.stringify({ packages: {} })],
  ['no list', 'half a fi'],
])('a build installs if node_modules has %s', (_what, found) => {
  const { run, isInstalled } = build({ ...CLONE, ...NODE_MODULES, [INSTALLED]: found });
  expect(run().code).toBe(0);
  expect(isInstalled()).toBe(true);
});

it('a build keeps what is compiled, and `--clean` removes it first', () => {
  const stale = { 'dist/removed.js': '' };
  const kept = build({ ...CLONE, ...NODE_MODULES, ...stale });
  kept.run();
  expect(existsSync(join(kept.cwd, 'dist/removed.js'))).toBe(true);
  const cleaned = build({ ...CLONE, ...NODE_MODULES, ...stale }, ['--clean']);
  cleaned.run();
  expect(existsSync(join(cleaned.cwd, 'dist/removed.js'))).toBe(false);
  expect(cleaned.dist()).not.toBe('');
});

verifies('L6', 'a package is built from nothing, and has no state of the compiler', () => {
  const { scripts, files } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
  expect(scripts.prepack).toBe('node tools/build.mjs --clean');
  expect(files).toContain('!dist/.tsbuildinfo');
});
