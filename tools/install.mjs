import { existsSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from './child.mjs';

/** The folder of package.json. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '');

const BIN = join(ROOT, 'node_modules', '.bin');

/** Runs `npm ci` if node_modules is missing or older than the lockfile; prints a line to stderr. */
export async function install() {
  if (isCurrent()) return;
  process.stderr.write('Installing dependencies (npm ci) …\n');
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, output, stopped } = await runChild('npm', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  if (stopped) process.exit(code || 1);
  if (code === 0) return;
  process.stderr.write(`${output}npm ci failed.\n  fix: correct the error above, then run this again.\n`);
  process.exit(code);
}

function isCurrent() {
  const installed = join(ROOT, 'node_modules', '.package-lock.json');
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(ROOT, 'package-lock.json')).mtimeMs;
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
