// `npm run conformance`: the protocol's own test suite plays the server, Heddle's library the client.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChild } from './child.mjs';
import { install, ROOT, toolEnvironment } from './install.mjs';

const CLIENT = 'node test/conformance/client.ts'; // The suite splits it at spaces, so no path of this machine is in it.
const PLAYED = 'played to the end';

/**
 * How many checks of each scenario pass at least: some scenarios pass for a client that does nothing, because they
 * only look at what it sends. Signing in is not there yet, so `auth/` is not listed.
 */
const SCENARIOS = {
  '2025-11-25': {
    initialize: 1,
    tools_call: 2,
    'elicitation-sep1034-client-defaults': 5,
    'sse-retry': 3,
    'json-schema-2020-12-preservation': 9,
  },
  '2026-07-28': {
    tools_call: 2,
    'request-metadata': 8,
    'sep-2322-client-request-state': 5,
    'http-standard-headers': 6,
    'http-custom-headers': 18,
    'http-invalid-tool-headers': 12,
    'json-schema-ref-no-deref': 1,
    'json-schema-2020-12-preservation': 9,
  },
};

await install();
const scratch = mkdtempSync(join(tmpdir(), 'heddle-conformance-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
for (const [revision, scenarios] of Object.entries(SCENARIOS)) {
  const { folder, output } = await runSuite(revision);
  const played = readScenarios(folder);
  const names = new Set([...Object.keys(scenarios), ...played.keys()]);
  const verdicts = [...names].map((name) => judge(name, { least: scenarios[name], found: played.get(name) }));
  report(revision, verdicts, output);
}

/** The suite's exit code also counts the scenarios that are left out here, so it says nothing. */
async function runSuite(revision) {
  const folder = join(scratch, revision);
  mkdirSync(folder);
  const args = ['client', '--command', CLIENT, '--requirements', revision, '-o', folder];
  // All clients of a revision start at once: what one has compiled, the others need not.
  const env = { ...toolEnvironment(), NODE_COMPILE_CACHE: join(scratch, 'compiled'), TMPDIR: scratch };
  const { code, output, stopped } = await runChild('conformance', args, {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (stopped) process.exit(code || 1);
  return { folder, output };
}

/** One folder per scenario, named after it and the time of day. */
function readScenarios(folder) {
  const found = readdirSync(folder).filter((name) => name !== 'auth');
  return new Map(
    found.map((name) => {
      const read = (file) => readFileSync(join(folder, name, file), 'utf8');
      const results = {
        checks: JSON.parse(read('checks.json')),
        stdout: read('stdout.txt'),
        stderr: read('stderr.txt'),
      };
      return [name.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, ''), results];
    }),
  );
}

function judge(name, { least, found }) {
  if (!found) return { name, passed: 0, wrong: ['The suite has not run it.'] };
  const { checks, stdout, stderr } = found;
  const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
  const wrong = checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ id, status, description, errorMessage }) => `${status} ${id}: ${errorMessage ?? description}`);
  if (least === undefined)
    wrong.push('Nothing says yet how many of its checks have to pass: see tools/conformance.mjs.');
  if (passed < least) wrong.push(`Only ${passed} checks passed, and ${least} have to.`);
  if (!stdout.includes(PLAYED)) wrong.push(`The client did not come to its end.\n${stderr.trimEnd()}`);
  return { name, passed, wrong };
}

function report(revision, verdicts, output) {
  const failed = verdicts.filter(({ wrong }) => wrong.length > 0);
  const passed = verdicts.reduce((sum, verdict) => sum + verdict.passed, 0);
  const summary = `${verdicts.length - failed.length} of ${verdicts.length} scenarios, ${passed} checks passed`;
  process.stdout.write(`${failed.length > 0 ? '✗' : '✓'} ${revision}: ${summary}\n`);
  for (const { name, wrong } of failed) {
    process.stdout.write(`  ✗ ${name}\n${wrong.join('\n').replaceAll(/^/gm, '    ')}\n`);
  }
  if (failed.length === 0) return;
  if (failed.length === verdicts.length) process.stdout.write(output);
  process.exitCode = 1;
}
