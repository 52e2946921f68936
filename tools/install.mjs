import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from './child.mjs';

/** The folder of package.json. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '');

const BIN = join(ROOT, 'node_modules', '.bin');
const NEEDED = 24;
const PROGRESS_MS = 1000;

/**
 * Runs `npm ci` if node_modules is missing, incomplete or has other packages than the lockfile. Prints to stderr what it does
 * and how long it took.
 *
 * @param {{ dev?: boolean }} [options] dev: false leaves out the packages that only tests and tools need
 */
export async function install({ dev = true } = {}) {
  const withNode = dev || needsNode();
  if (isCurrent(dev)) return;
  const what = `dependencies${dev ? ' and test tools' : withNode ? ` and Node ${NEEDED}` : ''}`;
  const started = performance.now();
  const showEnd = showProgress(what, started);
  const groups = [dev ? '--include=dev' : '--omit=dev', withNode ? '--include=optional' : '--omit=optional'];
  const args = ['ci', ...groups, '--no-audit', '--no-fund', '--loglevel=error'];
  const run = runChild('npm', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const { code, output, stopped } = await run.finally(showEnd);
  if (stopped) process.exit(code || 1);
  if (code !== 0) {
    process.stderr.write(`${output}npm ci failed.\n  fix: correct the error above, then run this again.\n`);
    process.exit(code);
  }
  process.stderr.write(`Installed ${what} in ${secondsSince(started)} s.\n`);
}

/** Prints a line, and on a terminal the elapsed time every second. The returned function ends that. */
function showProgress(what, started) {
  const line = `Installing ${what} (npm ci) …`;
  if (!process.stderr.isTTY) {
    process.stderr.write(`${line}\n`);
    return () => {};
  }
  const show = () => process.stderr.write(`\r\x1b[K${line} ${secondsSince(started)} s`);
  show();
  const timer = setInterval(show, PROGRESS_MS);
  return () => {
    clearInterval(timer);
    process.stderr.write('\r\x1b[K');
  };
}

const secondsSince = (started) => Math.round((performance.now() - started) / 1000);

function isCurrent(dev) {
  if (!hasPackages(dev)) return false;
  if (dev && !existsSync(join(BIN, 'vitest'))) return false;
  return !needsNode() || existsSync(join(BIN, 'node'));
}

/** Compares the packages by content: a checkout writes the lockfile anew, and its time then means nothing. */
function hasPackages(dev) {
  const installed = readPackages(join(ROOT, 'node_modules', '.package-lock.json'));
  if (!installed) return false;
  return Object.entries(readPackages(join(ROOT, 'package-lock.json')) ?? {}).every(([path, wanted]) => {
    const found = installed[path];
    if (found) return found.version === wanted.version && found.integrity === wanted.integrity;
    // The root is not listed. npm leaves out optional packages that are for other platforms.
    return path === '' || wanted.optional || (!dev && (wanted.dev || wanted.devOptional));
  });
}

/** Returns the packages of a lockfile by path; undefined if there is none, or it cannot be read. */
function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? {};
  } catch {
    return undefined;
  }
}

/** Returns true if the machine's Node is too old to run Heddle and npm has a newer one for this platform. */
function needsNode() {
  // `npm run` puts node_modules/.bin first in PATH: this may be the Node that was installed there before.
  const isInstalled = process.execPath.startsWith(join(ROOT, 'node_modules', '/'));
  if (!isInstalled && Number.parseInt(process.versions.node, 10) >= NEEDED) return false;
  return process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);
}

/** Returns the Node that runs Heddle: that of node_modules, or this one if the platform has none there. */
export function nodePath() {
  const own = join(BIN, 'node');
  return existsSync(own) ? own : process.execPath;
}

/** Returns an environment whose PATH finds `node`, `tsc` and the other tools in node_modules first. */
export function toolEnvironment() {
  return { ...process.env, PATH: `${BIN}${delimiter}${process.env.PATH}` };
}
