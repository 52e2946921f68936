import { stripVTControlCharacters } from 'node:util';
import { expect, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { logEvent, RUN, resultOf, runEvent } from './fixtures.ts';
import { printEvents, printRun, printRuns } from './print-run.ts';
import { printLint, printPlan } from './print-workflow.ts';
import { endedError } from './run-errors.ts';

/** Returns the lines that a function prints to stdout. */
function printed(action: () => void): readonly string[] {
  let text = '';
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += chunk;
    return true;
  });
  action();
  write.mockRestore();
  return stripVTControlCharacters(text).trimEnd().split('\n');
}

const FAILED = {
  ...RUN,
  status: 'failed' as const,
  endedAt: 3500,
  error: { code: 'UPSTREAM_TIMEOUT', message: 'fetch\u001b[2J did not answer.', path: 'pages/[3]/fetch' },
};

verifies('W6', '`runs list` shows status, time and error of each run, escaped', () => {
  expect(printed(() => printRuns([FAILED, RUN], 2000))).toEqual([
    expect.stringMatching(/^RUN +WORKFLOW +STATUS +STARTED +TIME +CALLER +ERROR$/),
    String.raw`run_1  digest    failed   1970-01-01T00:00:01.000Z  2.5 s  local:ann  pages/[3]/fetch: UPSTREAM_TIMEOUT: fetch\u{001b}[2J did not answer.`,
    'run_1  digest    running  1970-01-01T00:00:01.000Z  1.0 s  local:ann',
  ]);
});

verifies(
  'W5',
  '`runs show` has the steps, and of a call in doubt its audit records and the commands that settle it',
  () => {
    const doubt = {
      path: 'items/[2]/pay',
      tool: 'bank.pay',
      callId: 'call-7',
      since: 2000,
      records: [
        { at: 2100, phase: 'outcome', name: 'bank.pay', detail: { outcome: 'OUTCOME_UNKNOWN' } },
        { at: 2000, phase: 'intent', name: 'bank.pay', detail: { input: 'e0'.repeat(32), arguments: { n: 1 } } },
      ],
    };
    const run = { ...RUN, status: 'in_doubt' as const, input: { n: 1 }, doubts: [doubt] };
    const lines = printed(() =>
      printRun(run, [logEvent('get', 'start', 1000), logEvent('get', 'complete', 1200)], 2000),
    );
    const text = lines.join('\n');
    expect(lines).toEqual(
      expect.arrayContaining(['run       run_1', 'status    in doubt', 'steps', '  ✓ get  200 ms']),
    );
    expect(lines.slice(lines.indexOf('The audit log has of the call call-7:') + 1).slice(0, 2)).toEqual([
      '  1970-01-01T00:00:02.000Z  intent  bank.pay  {"arguments":{"n":1}}',
      '  1970-01-01T00:00:02.100Z  outcome  bank.pay  {"outcome":"OUTCOME_UNKNOWN"}',
    ]);
    expect(text).toContain("heddle runs resolve run_1 --step 'items/[2]/pay' --happened --result '{…}'");
    expect(text).toContain("heddle runs resolve run_1 --step 'items/[2]/pay' --did-not-happen");
    expect(text).toContain("heddle runs resolve run_1 --step 'items/[2]/pay' --retry");
  },
);

verifies('W6', '`runs events` prints one line per event', () => {
  const [line] = printed(() => printEvents([runEvent('started', 'get', 1000, { tool: 'a.b' })]));
  expect(line).toMatch(/^\d+ 1970-01-01T00:00:01.000Z started get \{"tool":"a.b"\}$/);
});

verifies('W6', 'lint prints file, line, column, code and fix of each problem, and the estimates of a run', () => {
  const at = { file: `${process.cwd()}/flows/digest.yaml`, line: 12, column: 7 };
  const problem = {
    code: 'STEP_UNKNOWN',
    message: 'There is no step serch.',
    fix: 'Did you mean search?',
    path: 'pages',
    at,
  };
  const report = {
    name: 'digest',
    problems: [{ level: 'error', ...problem }] as const,
    estimate: { minCalls: 3, maxCalls: 25, minCost: 0.1, maxCost: 0.4 },
  };
  expect(printed(() => printLint(report))).toEqual([
    'flows/digest.yaml:12:7: error STEP_UNKNOWN: pages: There is no step serch.',
    '  fix: Did you mean search?',
    'digest: 1 error, 0 warnings; a run makes 3 to 25 calls, cost 0.1 to 0.4',
  ]);
  const fine = { name: 'digest', problems: [], estimate: { minCalls: 1 } };
  expect(printed(() => printLint(fine))).toEqual(['digest: no problem; a run makes 1 or more calls']);
  expect(printed(() => printLint(fine, 'flow.yaml'))).toEqual(['flow.yaml: no problem; a run makes 1 or more calls']);
});

verifies(
  'W6',
  'a dry run shows the permission and the known input of each step, and the approvals that it needs',
  () => {
    const plan = {
      ...{ workflow: 'digest', digest: '3f2a'.repeat(16), problems: [], estimate: { minCalls: 2, maxCalls: 2 } },
      steps: [
        { path: 'get', kind: 'tool', tool: 'web.get', effect: 'allow' as const, input: { url: 'https://a.example' } },
        { path: 'put', kind: 'tool', tool: 'notes.write', effect: 'ask' as const, rule: 'mode guarded' },
        { path: 'mix', kind: 'tool', tool: 'web.get', effect: 'allow' as const, input: { a: 1 }, later: ['url', 'n'] },
        { path: 'all', kind: 'tool', tool: 'web.get', effect: 'allow' as const, input: {}, later: [] },
      ],
      approvals: ['put'],
    };
    expect(printed(() => printPlan(plan))).toEqual([
      'STEP  KIND  TOOL         PERMISSION  RULE          INPUT',
      'get   tool  web.get      allow                     {"url":"https://a.example"}',
      'put   tool  notes.write  ask         mode guarded',
      'mix   tool  web.get      allow                     {"a":1}; url, n: known only when the run reaches it',
      'all   tool  web.get      allow                     known only when the run reaches it',
      'digest (3f2a3f2a3f2a): a run makes 2 calls; approvals needed: put. No tool was called.',
    ]);
  },
);

verifies('L4', 'the error of a run names the step and its error; a cancelled run exits with 130', () => {
  const failed = endedError(resultOf('failed', { error: FAILED.error }), 'digest');
  expect(failed).toMatchObject({ code: 'RUN_FAILED', details: { run: 'run_1', step: 'pages/[3]/fetch' } });
  expect(failed.message).toBe(
    'The run run_1 of digest failed at pages/[3]/fetch: UPSTREAM_TIMEOUT: fetch\u001b[2J did not answer.',
  );
  expect(failed.fix).toContain('heddle runs show run_1');
  expect(endedError(resultOf('cancelled'), 'digest').code).toBe('CALL_CANCELLED');
  expect(endedError(resultOf('compensation_failed'), 'digest').message).toContain('A compensation failed');
});
