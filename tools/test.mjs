// `npm test`, `npm run check` (--quick: without services) and `npm run soak` (--soak: long tests at full length).
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChild } from './child.mjs';
import { install, nodePath, ROOT, toolEnvironment } from './install.mjs';
import { readCounts } from './vitest-counts.mjs';

const quick = process.argv.includes('--quick');
const soak = process.argv.includes('--soak');
const total = { passed: 0, failed: 0, skipped: 0 };
const started = [];

await install();
const scratch = mkdtempSync(join(tmpdir(), 'heddle-test-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
// The compiler and the protocol's suite mostly use one core each: other steps run beside them.
const tsc = step(['tsc', '-p', '.']);
await check('biome', step(['biome', 'check', '--error-on-warnings', '.']));
await check('depcruise', step(['depcruise', 'src']));
await check('conformance as server', step(['node', 'tools/conformance.mjs', 'server']));
await check('tsc', tsc);
await vitest();
const client = step(['node', 'tools/conformance.mjs', 'client']);
// Builds dist/, which the examples import.
await check('pack and run', step(['node', 'tools/pack-smoke.mjs']));
for (const example of examples())
  await check(`examples/${example}`, step(['node', join('examples', example, 'run.ts')]));
await check('conformance as client', client);
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : '';
process.stdout.write(`${total.passed} passed, ${total.failed} failed${skipped}\n`);
process.exitCode = total.failed > 0 || (process.env.CI && total.skipped > 0) ? 1 : 0;

async function check(name, outcome) {
  const { code, output, seconds } = await outcome;
  const ok = code === 0;
  report(name, { ok, output, seconds });
  total[ok ? 'passed' : 'failed'] += 1;
}

async function vitest() {
  const results = join(scratch, 'vitest.json');
  const run = ['vitest', 'run', '--reporter=minimal', '--reporter=json', `--outputFile.json=${results}`];
  const { code, output, seconds } = await step(quick ? run : ['node', 'tools/services.mjs', '--', ...run], {
    HEDDLE_TEST_SCALE: soak ? 'full' : (process.env.HEDDLE_TEST_SCALE ?? ''),
  });
  const counts = readCounts(results, code);
  for (const [kind, count] of Object.entries(counts)) total[kind] += count;
  const parts = Object.entries(counts).flatMap(([kind, count]) => (count > 0 ? [`${count} ${kind}`] : []));
  report(`vitest (${parts.join(', ')})`, { ok: counts.failed === 0, output, seconds });
}

/** Runs one command with the tools of node_modules. If the user stopped it, exits once no step runs any more. */
async function step([command, ...args], environment = {}) {
  const startedAt = performance.now();
  const child = runChild(command === 'node' ? nodePath() : command, args, {
    cwd: ROOT,
    env: { ...toolEnvironment(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  const { code, output, stopped } = await child;
  if (stopped) {
    await Promise.allSettled(started);
    process.exit(code || 1);
  }
  return { code, output, seconds: ((performance.now() - startedAt) / 1000).toFixed(1) };
}

function report(name, { ok, output, seconds }) {
  process.stdout.write(`${ok ? '✓' : '✗'} ${name} ${seconds} s\n${ok ? '' : `${output.trimEnd()}\n`}`);
}

function examples() {
  const folder = join(ROOT, 'examples');
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((example) => existsSync(join(folder, example, 'run.ts')));
}
