import { existsSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from './child.mjs';

/** The folder of package.json. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url)).replace(/[/\\]$/, '');

const BIN = join(ROOT, 'node_modules', '.bin');

/** Brings node_modules up to the lockfile when it is missing or older; says so on stderr. */
export async function install() {
  if (isCurrent()) return;
  process.stderr.write('Installing dependencies (npm ci) …\n');
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, output, stopped } = await runChild('npm', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  if (stopped) process.exit(code || 1);
  if (code === 0) return;
  process.stderr.write(`${output}npm ci failed.\n  fix: correct what it says above, then run this again.\n`);
  process.exit(code);
}

function isCurrent() {
  const installed = join(ROOT, 'node_modules', '.package-lock.json');
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(ROOT, 'package-lock.json')).mtimeMs;
}

/** The Node that runs Heddle: the one `npm ci` brought, or, where there is none for the platform, this one. */
export function nodePath() {
  const own = join(BIN, 'node');
  return existsSync(own) ? own : process.execPath;
}

/** The environment in which `node`, `tsc` and the other tools are those of node_modules. */
export function toolEnvironment() {
  return { ...process.env, PATH: `${BIN}${delimiter}${process.env.PATH}` };
}
