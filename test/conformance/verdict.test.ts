import { join } from 'node:path';
import { expect } from 'vitest';
import { runCommand } from '../house/run-command.ts';
import { temporaryTree } from '../house/temporary-tree.ts';
import { verifies } from '../requirements.ts';
import expectedFailures from './expected-failures.json' with { type: 'json' };

interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING';
  readonly description: string;
}
interface Run {
  readonly scenarios: number;
  readonly least: number;
  readonly played: ReadonlyMap<string, { readonly checks: readonly Check[] }>;
  readonly expected: readonly { readonly scenario: string; readonly checks: readonly string[] }[];
  readonly output: string;
}
type Judge = (name: string, run: Run) => [string, { readonly name: string; readonly wrong: readonly string[] }[]];

const VERDICT = join(import.meta.dirname, '..', '..', 'tools', 'conformance-verdict.mjs');
const { judge } = (await import(VERDICT)) as { judge: Judge };

const check = (id: string, status: Check['status']): Check => ({ id, status, description: `the description of ${id}` });
const wrongWith = (...checks: readonly Check[]) => {
  const expected = [{ scenario: 'tasks', checks: ['known'] }];
  const played = new Map([['server-tasks', { checks }]]);
  return judge('a run', { scenarios: 1, least: 0, played, expected, output: '' })[1].flatMap(({ wrong }) => wrong);
};

verifies('P5', 'fails the run for each failed check that is not expected to fail', () => {
  expect(wrongWith(check('known', 'FAILURE'), check('good', 'SUCCESS'))).toEqual([]);
  expect(wrongWith(check('known', 'FAILURE'), check('good', 'FAILURE'))).toEqual([
    'FAILURE good: the description of good',
  ]);
  expect(wrongWith(check('known', 'FAILURE'), check('good', 'WARNING'))).toEqual([
    'WARNING good: the description of good',
  ]);
  expect(wrongWith(check('known', 'SUCCESS'))).toEqual([expect.stringContaining('It passes now')]);
});

verifies('P5', 'expects only those checks to fail that a legacy server cannot satisfy', () => {
  expect(Object.keys(expectedFailures)).toEqual(['2026-07-28 with a legacy server']);
  const listed = expectedFailures['2026-07-28 with a legacy server'];
  const tasks = listed.filter(({ scenario }) => scenario.startsWith('tasks-'));
  const rest = listed.filter((one) => !tasks.includes(one)).flatMap(({ checks }) => checks);
  expect(rest).toEqual([
    'sep-2322-elicitation-incomplete',
    'sep-2322-ignore-unexpected-params',
    'sep-2575-server-rejects-undeclared-capability',
    'sep-2575-missing-capability-http-400',
  ]);
  // A legacy server begins no task of the extension, so checks of its tasks fail. The other checks must pass.
  const counts = Object.fromEntries(tasks.map(({ scenario, checks }) => [scenario, new Set(checks).size]));
  expect(counts).toEqual({
    'tasks-capability-negotiation': 2,
    'tasks-dispatch-and-envelope': 5,
    'tasks-lifecycle': 8,
    'tasks-mrtr-composition': 1,
    'tasks-mrtr-input': 3,
    'tasks-request-headers': 3,
    'tasks-request-state-removal': 1,
    'tasks-required-task-error': 1,
    'tasks-wire-fields': 3,
  });
});

verifies('P5', 'runs the suite as client and as server, unless an argument names one role', () => {
  const printing = (name: string, role: string) => `export const ${name} = async () => console.log('${role}');\n`;
  const cwd = temporaryTree({
    copied: ['tools/conformance.mjs'],
    written: {
      'tools/conformance-client.mjs': printing('asClient', 'client'),
      'tools/conformance-server.mjs': printing('asServer', 'server'),
      'tools/conformance-suite.mjs': "export const scratch = 'scratch';\n",
      'tools/install.mjs': 'export const install = async () => {};\n',
    },
  });
  const roles = (...only: string[]) =>
    runCommand([process.execPath, 'tools/conformance.mjs', ...only], { cwd, env: { PATH: process.env.PATH } }).stdout;
  expect([roles(), roles('client'), roles('server')]).toEqual(['client\nserver\n', 'client\n', 'server\n']);
});
