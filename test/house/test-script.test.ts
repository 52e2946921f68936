import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { runCommand } from './run-command.ts';
import { temporaryTree } from './temporary-tree.ts';

const SCRIPT = ['tools/test.mjs', 'tools/install.mjs', 'tools/child.mjs', 'tools/vitest-counts.mjs'];
const shell = (body: string) => `#!/bin/sh\n${body}\n`;
const report = (counts: object) => {
  const all = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [], ...counts };
  return shell(`for a in "$@"; do case $a in --outputFile.json=*) f=\${a#*=};; esac; done
cat > "$f" <<'END'
${JSON.stringify(all)}
END
echo "output of vitest"
exit ${all.numFailedTests > 0 || all.testResults.length > 0 ? 1 : 0}`);
};

const PASSING = {
  'package-lock.json': '{}\n',
  'node_modules/.package-lock.json': '{}\n',
  'node_modules/.bin/biome': shell('echo "output of biome"'),
  'node_modules/.bin/tsc': shell(''),
  'node_modules/.bin/depcruise': shell(''),
  'node_modules/.bin/vitest': report({ numPassedTests: 40 }),
  'examples/hello/run.ts': 'process.exitCode = 0;\n',
  'tools/conformance.mjs': '',
  'tools/pack-smoke.mjs': '',
  'tools/services.mjs': '',
};

function check(changed: Readonly<Record<string, string>> = {}, env: NodeJS.ProcessEnv = {}) {
  const cwd = temporaryTree({ copied: SCRIPT, written: { ...PASSING, ...changed } });
  const command = [process.execPath, 'tools/test.mjs', '--quick'] as const;
  const { code, stdout } = runCommand(command, { cwd, env: { CI: '', PATH: process.env.PATH, ...env } });
  return { cwd, code, stdout: stdout.replaceAll(/ \d+\.\d s$/gm, ' n s') };
}

verifies('L6', 'prints one line per step, and counts tests and steps in the last line', () => {
  expect(check()).toMatchObject({
    code: 0,
    stdout: [
      '✓ biome n s',
      '✓ depcruise n s',
      '✓ conformance as server n s',
      '✓ tsc n s',
      '✓ vitest (40 passed) n s',
      '✓ pack and run n s',
      '✓ examples/hello n s',
      '✓ conformance as client n s',
      '47 passed, 0 failed\n',
    ].join('\n'),
  });
});

it('shows the output of a failed step, and runs the later ones', () => {
  const { code, stdout } = check({
    'node_modules/.bin/tsc': shell('echo "a type is wrong" >&2; exit 2'),
    'examples/hello/run.ts': "throw new Error('a story that went wrong');\n",
  });
  expect(stdout).toContain('✗ tsc n s\na type is wrong\n✓ vitest');
  expect(stdout).toContain('a story that went wrong');
  expect(stdout).not.toContain('output of biome');
  expect(stdout).toMatch(/\n45 passed, 2 failed\n$/);
  expect(code).toBe(1);
});

it('counts and shows failed tests', () => {
  const { code, stdout } = check({ 'node_modules/.bin/vitest': report({ numPassedTests: 38, numFailedTests: 2 }) });
  expect(stdout).toContain('✗ vitest (38 passed, 2 failed) n s\noutput of vitest\n');
  expect(stdout).toMatch(/\n45 passed, 2 failed\n$/);
  expect(code).toBe(1);
});

it('counts a test file that does not load, and a vitest that dies, as failures', () => {
  const broken = report({ testResults: [{ status: 'failed', assertionResults: [] }] });
  expect(check({ 'node_modules/.bin/vitest': broken }).stdout).toMatch(/\n7 passed, 1 failed\n$/);
  expect(check({ 'node_modules/.bin/vitest': shell('kill -9 $$') }).stdout).toMatch(/\n7 passed, 1 failed\n$/);
});

it('counts skipped tests, and fails the run in CI', () => {
  const changed = { 'node_modules/.bin/vitest': report({ numPassedTests: 30, numPendingTests: 3 }) };
  const here = check(changed);
  expect(here.stdout).toMatch(/\n37 passed, 0 failed, 3 skipped\n$/);
  expect(here.code).toBe(0);
  expect(check(changed, { CI: 'true' }).code).toBe(1);
});

it('ends processes that a step leaves running, and does not wait for them', () => {
  const { stdout } = check({
    'node_modules/.bin/tsc': shell('sleep 600 & echo "left $!"; exit 1'),
  });
  const left = /left (\d+)/.exec(stdout)?.[1] ?? '';
  // No process, or a zombie that is not reaped yet.
  expect(runCommand(['ps', '-o', 'stat=', '-p', left]).stdout).toMatch(/^Z|^$/);
});

it('ends the steps that run side by side when it is stopped', () => {
  const { code, cwd } = check({
    'node_modules/.bin/biome': shell("trap 'sleep 0.5; exit 1' INT; sleep 600 & echo $! > left; wait"),
    'node_modules/.bin/tsc': shell('until [ -s left ]; do sleep 0.1; done; kill -INT $PPID; exec sleep 600'),
  });
  expect(code).not.toBe(0);
  const left = readFileSync(join(cwd, 'left'), 'utf8').trim();
  expect(runCommand(['ps', '-o', 'stat=', '-p', left]).stdout).toMatch(/^Z|^$/);
});
