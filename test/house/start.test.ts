import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, constants, copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import { runCommand } from './run-command.ts';
import { temporaryTree } from './temporary-tree.ts';

const LAUNCHING = ['bin/heddle', 'bin/package.json', 'tools/start.mjs', 'tools/install.mjs', 'tools/child.mjs'];
const INSTALLED = { 'node_modules/.package-lock.json': '{}\n' };
const REPORTS =
  "export async function main(argv: string[]) {\n  console.log(argv.join(' '));\n  process.exitCode = 7;\n}\n";
// A fake gateway: runs for ever, prints when it is ready and each SIGINT.
const SERVES = `export async function main() {
  const forEver = setInterval(() => {}, 1000);
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => {
      console.log(signal);
      setTimeout(() => clearInterval(forEver), 300);
    });
  }
  console.log('ready');
}
`;

function clone(main: string, more: Readonly<Record<string, string>> = INSTALLED): string {
  const base = { 'package.json': '{ "type": "module" }\n', 'package-lock.json': '{}\n', 'src/cli/main.ts': main };
  return temporaryTree({ copied: LAUNCHING, written: { ...base, ...more } });
}

/** Starts a command with the fake gateway. `output` settles when every process that holds its stdout has ended. */
async function serving(command: readonly [string, ...string[]], env: NodeJS.ProcessEnv = {}) {
  const [name, ...args] = command;
  const child: ChildProcess = spawn(name, args, { cwd: clone(SERVES), env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  if (!child.stdout) throw new Error('stdout is no pipe');
  const ready = once(child.stdout, 'data');
  const output = text(child.stdout);
  const code = once(child, 'exit').then(([value]) => value);
  await ready;
  return { child, output, code };
}

verifies('L6', '`npm start` runs `heddle up` with its arguments, and exits with its code', () => {
  const cwd = clone(REPORTS);
  const { code, stdout, stderr } = runCommand([process.execPath, 'tools/start.mjs', '--port', '0'], { cwd });
  expect({ code, stdout, stderr }).toEqual({ code: 7, stdout: 'up --port 0\n', stderr: '' });
});

verifies('L6', 'a new lockfile keeps the Node that npm installed, though that Node runs the installation', () => {
  const npm = '#!/bin/sh\necho "$@" > npm-arguments\necho {} > node_modules/.package-lock.json\n';
  const lockfile = '{ "packages": { "node_modules/new": { "version": "1.0.0" } } }\n';
  const before = { ...INSTALLED, 'package-lock.json': lockfile, 'node_modules/node-here/README': '' };
  const cwd = clone(REPORTS, { ...before, 'fake/npm': npm });
  chmodSync(join(cwd, 'fake/npm'), 0o755);
  const installed = join(cwd, 'node_modules/node-here/node');
  copyFileSync(process.execPath, installed, constants.COPYFILE_FICLONE);
  runCommand([installed, 'tools/start.mjs'], { cwd, env: { PATH: `${join(cwd, 'fake')}:${process.env.PATH}` } });
  expect(readFileSync(join(cwd, 'npm-arguments'), 'utf8')).toContain('--include=optional');
});

verifies('L6', 'a clone without node_modules is installed first with `npm ci`, and the output names it', () => {
  const npm =
    '#!/bin/sh\necho "$@" > npm-arguments\nmkdir -p node_modules && echo {} > node_modules/.package-lock.json\n';
  const cwd = clone(REPORTS, { 'fake/npm': npm });
  const start = () =>
    runCommand([process.execPath, 'tools/start.mjs'], {
      cwd,
      env: { PATH: `${join(cwd, 'fake')}:${process.env.PATH}` },
    });

  const { code, stdout, stderr } = start();
  expect({ code, stdout }).toEqual({ code: 7, stdout: 'up\n' });
  expect(stderr).toMatch(/^Installing dependencies \(npm ci\) …\nInstalled dependencies in \d+ s\.\n$/);
  expect(readFileSync(join(cwd, 'npm-arguments'), 'utf8')).toMatch(/^ci --omit=dev --omit=optional /);
  expect(start()).toMatchObject({ code: 7, stderr: '' });
});

const RECORDING_NPM =
  '#!/bin/sh\necho "$@" > npm-arguments\nmkdir -p node_modules && echo {} > node_modules/.package-lock.json\n';

it('shows the elapsed time of the installation on a terminal', () => {
  const cwd = clone(REPORTS, { 'fake/npm': RECORDING_NPM });
  const start = `PATH=${join(cwd, 'fake')}:$PATH ${process.execPath} tools/start.mjs`;
  const { stdout } = runCommand(['script', '-qefc', start, '/dev/null'], { cwd });
  expect(stripVTControlCharacters(stdout)).toMatch(
    /^\rInstalling dependencies \(npm ci\) … \d+ s\rInstalled dependencies in \d+ s\.\r\nup\r\n$/,
  );
});

it('`npm test` installs the test tools after an installation without them', () => {
  const cwd = clone(REPORTS, { ...INSTALLED, 'fake/npm': RECORDING_NPM });
  const env = { PATH: `${join(cwd, 'fake')}:${process.env.PATH}` };
  const script = "import('./tools/install.mjs').then(({ install }) => install())";
  const { code, stderr } = runCommand([process.execPath, '-e', script], { cwd, env });
  expect(code).toBe(0);
  expect(stderr).toContain('Installing dependencies and test tools (npm ci) …\n');
  expect(readFileSync(join(cwd, 'npm-arguments'), 'utf8')).toMatch(/^ci --include=dev --include=optional /);
});

it('installs Node 24 only if the Node that runs npm is older', () => {
  const cwd = clone(REPORTS, { 'fake/npm': RECORDING_NPM });
  const env = { PATH: `${join(cwd, 'fake')}:${process.env.PATH}` };
  const old = "Object.defineProperty(process, 'versions', { value: { node: '20.1.2' } });";
  const linux = "Object.defineProperty(process, 'platform', { value: 'linux' });";
  const script = `${old}${linux}import('./tools/install.mjs').then(({ install }) => install({ dev: false }))`;
  const { stderr } = runCommand([process.execPath, '-e', script], { cwd, env });
  expect(stderr).toContain('Installing dependencies and Node 24 (npm ci) …\n');
  expect(readFileSync(join(cwd, 'npm-arguments'), 'utf8')).toMatch(/^ci --omit=dev --include=optional /);
});

it('a failed installation shows the output of npm and starts nothing', () => {
  const cwd = clone(REPORTS, { 'fake/npm': '#!/bin/sh\necho "no such host" >&2\nexit 9\n' });
  const env = { PATH: `${join(cwd, 'fake')}:${process.env.PATH}` };
  const { code, stdout, stderr } = runCommand([process.execPath, 'tools/start.mjs'], { cwd, env });
  expect(stderr).toContain('no such host\nnpm ci failed.');
  expect({ code, stdout }).toEqual({ code: 9, stdout: '' });
});

it('two simultaneous interrupts reach the gateway once', async () => {
  const { child, output, code } = await serving([process.execPath, 'tools/start.mjs']);
  child.kill('SIGINT');
  child.kill('SIGTERM');
  expect((await output).split('\n').slice(1, -1)).toHaveLength(1);
  expect(await code).toBe(0);
});

it('the gateway ends when its starter is killed', async () => {
  const { child, output } = await serving([process.execPath, 'tools/start.mjs']);
  child.kill('SIGKILL');
  expect(await output).toBe('ready\nSIGTERM\n');
});

it('the gateway ends when npm is killed', async () => {
  const npm = `${process.execPath} tools/start.mjs & wait`;
  const { child, output } = await serving(['sh', '-c', npm], { npm_lifecycle_event: 'start' });
  child.kill('SIGKILL');
  expect(await output).toBe('ready\nSIGTERM\n');
});
