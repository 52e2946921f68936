import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChild } from './child.mjs';
import { ROOT, toolEnvironment } from './install.mjs';

/** The temporary folder for all files of a run. */
export const scratch = mkdtempSync(join(tmpdir(), 'heddle-conformance-'));

/** Returns the environment of all child processes. They share one compile cache. */
export const environment = () => ({
  ...toolEnvironment(),
  NODE_COMPILE_CACHE: join(scratch, 'compiled'),
  TMPDIR: scratch,
});

/**
 * Runs the suite and returns the folder of its results. Its exit code is ignored, because it counts expected failures
 * too.
 *
 * @param {string} name of this run
 * @param {readonly string[]} args
 */
export async function runSuite(name, args) {
  const folder = join(scratch, name);
  mkdirSync(folder, { recursive: true });
  const { code, output, stopped } = await runChild('conformance', [...args, '-o', folder], {
    cwd: ROOT,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (stopped) process.exit(code || 1);
  return { folder, output };
}

const DATED = /-\d{4}-\d\d-\d\dT[\d-]+Z$/;

/**
 * Reads the results of a run. The suite writes one folder per scenario, named after the scenario and the time; the name
 * may have a slash.
 *
 * @param {string} folder
 * @returns {Map<string, { checks: { id: string, status: string, description: string, errorMessage?: string }[], text: (file: string) => string }>}
 */
export function readScenarios(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => DATED.test(name));
  return new Map(
    names.map((name) => {
      const text = (file) => readFileSync(join(folder, name, file), 'utf8');
      return [name.replace(DATED, ''), { checks: JSON.parse(text('checks.json')), text }];
    }),
  );
}

/**
 * Prints one line for a run, and its failures.
 *
 * @param {string} summary
 * @param {readonly { name: string, wrong: readonly string[] }[]} failed scenarios
 */
export function report(summary, failed) {
  process.stdout.write(`${failed.length > 0 ? '✗' : '✓'} ${summary}\n`);
  for (const { name, wrong } of failed) {
    process.stdout.write(`  ✗ ${name}\n${wrong.join('\n').replaceAll(/^/gm, '    ')}\n`);
  }
  if (failed.length > 0) process.exitCode = 1;
}
