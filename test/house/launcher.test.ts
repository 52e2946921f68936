import { expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { runCommand } from './run-command.ts';
import { temporaryTree } from './temporary-tree.ts';

const LAUNCHER = ['bin/heddle', 'bin/package.json'];
const PACKAGE = { 'package.json': '{ "type": "module" }\n' };
const MAIN = 'export async function main(argv) {\n  console.log("MODE", ...argv);\n  process.exitCode = 5;\n}\n';
const SOURCE = { ...PACKAGE, 'src/cli/main.ts': MAIN.replace('argv)', 'argv: string[])').replace('MODE', 'source') };
const BUILT = { ...PACKAGE, 'dist/cli/main.js': MAIN.replace('MODE', 'built') };

function launch(written: Readonly<Record<string, string>>, pretend = '') {
  const cwd = temporaryTree({ copied: LAUNCHER, written });
  const preload = `--import=data:text/javascript,${encodeURIComponent(pretend)}`;
  return runCommand([process.execPath, preload, 'bin/heddle', 'list', 'tools'], { cwd });
}

const node = (version: string) => `Object.defineProperty(process, 'versions', { value: { node: '${version}' } })`;

verifies('L6', 'runs the source from a clone, silently and with all arguments', () => {
  expect(launch({ ...SOURCE, ...BUILT })).toEqual({ code: 5, stdout: 'source list tools\n', stderr: '' });
});

it('runs dist/ from a published package', () => {
  expect(launch(BUILT)).toEqual({ code: 5, stdout: 'built list tools\n', stderr: '' });
});

it('names the required and the found Node in a clone, and the command that installs it', () => {
  const { code, stdout, stderr } = launch(SOURCE, node('20.1.2'));
  expect(stderr).toContain('Heddle needs Node 24 or newer; this is Node 20.1.2');
  expect(stderr).toContain('npm ci');
  expect(stderr).toContain('bin/heddle …');
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
});

it('asks for a newer Node in a published package', () => {
  const { code, stderr } = launch(BUILT, node('18.0.0'));
  expect(stderr).toContain('this is Node 18.0.0');
  expect(stderr).toContain('install Node 24');
  expect(stderr).not.toContain('npm ci');
  expect(code).toBe(3);
});

it('names WSL on Windows', () => {
  const { code, stderr } = launch(SOURCE, "Object.defineProperty(process, 'platform', { value: 'win32' })");
  expect(stderr).toContain('WSL');
  expect(code).toBe(3);
});

const PACKAGES = { 'node_modules/other/index.cjs': '', 'node_modules/other/package.json': '{ "main": "index.cjs" }' };
const SEES =
  "(await import('node:module')).registerHooks({ resolve(name, context, next) { console.log(name); return next(name, context); } });";

it.each([
  ['source', SOURCE, 'src', '.ts'],
  ['dist', BUILT, 'dist', '.js'],
])('resolves its own files from %s without a lookup, and packages with one', (_, files, folder, extension) => {
  const main = `import './one${extension}';\nimport 'other';\nimport '../own.json' with { type: 'json' };\n${MAIN}`;
  const written = {
    ...files,
    ...PACKAGES,
    [`${folder}/cli/main${extension}`]: main,
    [`${folder}/cli/one${extension}`]: `await import('../two${extension}');\n`,
    [`${folder}/two${extension}`]: "console.log('loaded');\n",
    [`${folder}/own.json`]: '{}',
  };
  const { code, stdout, stderr } = launch(written, SEES);
  expect({ code, stderr }).toEqual({ code: 5, stderr: '' });
  const looked = stdout.split('\n').filter((name) => !/^(node:|file:|fs$|path$|url$|\/)/.test(name));
  expect(looked).toEqual(['other', '../own.json', 'loaded', 'MODE list tools', '']);
});

it('exits with 70 and a message when there is nothing to launch', () => {
  const { code, stderr } = launch(PACKAGE);
  expect(stderr).toContain('Heddle could not start.');
  expect(code).toBe(70);
});

it('names the install command in a clone without node_modules', () => {
  const { code, stderr } = launch({ ...PACKAGE, 'src/cli/main.ts': "import 'not-installed';\n" });
  expect(stderr).toMatch(/^What Heddle needs is not installed\.\n {2}fix: run `npm ci` in /);
  expect(stderr).not.toMatch(/^ +at /m);
  expect(code).toBe(3);
});

it('exits with 70 and the reason when Heddle cannot be loaded', () => {
  const { code, stderr } = launch({ ...PACKAGE, 'src/cli/main.ts': "throw new Error('broken on purpose');\n" });
  expect(stderr).toContain('Heddle could not start.');
  expect(stderr).toContain('broken on purpose');
  expect(code).toBe(70);
});
