// node bench/run.ts [--reps 5] [--calls 3000] [--warm-up 2000] [--only heddle,naive-sdk] [--suites stdio,http,start-up,connect,list,credentials,governance,background,builtin,workflow] [--json]
import { parseArgs } from 'node:util';
import { runBackgroundSuite, showBackgroundSuite } from './background-suite.ts';
import { runBuiltinSuite, showBuiltinSuite } from './builtin-suite.ts';
import { runConnectSuite, showConnectSuite } from './connect-suite.ts';
import { runCredentialsSuite, showCredentialsSuite } from './credentials-suite.ts';
import { runGatewaySuite, showGatewaySuite } from './gateway-suite.ts';
import { runGovernanceSuite, showGovernanceSuite } from './governance-suite.ts';
import { runListSuite, showListSuite } from './list-suite.ts';
import { runStartUpSuite, showStartUpSuite } from './start-up-suite.ts';
import { runWorkflowSuite, showWorkflowSuite } from './workflow-suite.ts';

const { values } = parseArgs({
  options: {
    reps: { type: 'string', default: '5' },
    calls: { type: 'string', default: '3000' },
    'warm-up': { type: 'string', default: '2000' },
    only: { type: 'string' },
    suites: {
      type: 'string',
      default: 'stdio,http,start-up,connect,list,credentials,governance,background,builtin,workflow',
    },
    json: { type: 'boolean', default: false },
  },
});
const [reps, calls, warmUp] = [Number(values.reps), Number(values.calls), Number(values['warm-up'])];
const only = values.only?.split(',');
const results: Record<string, unknown> = { node: process.version, date: new Date().toISOString(), reps, calls, warmUp };

/** Runs a suite, and returns what it measured beside the text that shows it. */
const suite =
  <T>(run: () => Promise<T>, show: (measured: T) => string) =>
  async (): Promise<{ readonly measured: unknown; readonly shown: string }> => {
    const measured = await run();
    return { measured, shown: show(measured) };
  };
const gateway = (kind: 'stdio' | 'http') =>
  suite(
    () => runGatewaySuite({ kind, reps, calls, warmUp, only }),
    (measured) => showGatewaySuite(kind, measured),
  );
const SUITES = new Map([
  ['stdio', gateway('stdio')],
  ['http', gateway('http')],
  ['start-up', suite(() => runStartUpSuite(reps), showStartUpSuite)],
  ['connect', suite(() => runConnectSuite(reps), showConnectSuite)],
  ['list', suite(() => runListSuite(reps), showListSuite)],
  ['credentials', suite(() => runCredentialsSuite({ reps, calls }), showCredentialsSuite)],
  ['governance', suite(() => runGovernanceSuite({ reps, calls, warmUp }), showGovernanceSuite)],
  ['background', suite(() => runBackgroundSuite({ reps, calls }), showBackgroundSuite)],
  ['builtin', suite(() => runBuiltinSuite({ reps }), showBuiltinSuite)],
  ['workflow', suite(() => runWorkflowSuite({ reps }), showWorkflowSuite)],
]);

for (const name of values.suites.split(',')) {
  const run = SUITES.get(name);
  if (!run) throw new Error(`${name} is not a suite; those are ${[...SUITES.keys()].join(', ')}.`);
  const { measured, shown } = await run();
  results[name] = measured;
  if (!values.json) process.stdout.write(shown);
}
if (values.json) process.stdout.write(`${JSON.stringify(results)}\n`);
