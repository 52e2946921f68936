// node bench/run.ts [--reps 5] [--calls 3000] [--warm-up 2000] [--only heddle,naive-sdk] [--suites stdio,http,start-up,connect,list,credentials,governance,background,builtin] [--json]
import { parseArgs } from 'node:util';
import { runBackgroundSuite, showBackgroundSuite } from './background-suite.ts';
import { runBuiltinSuite, showBuiltinSuite } from './builtin-suite.ts';
import { runConnectSuite, showConnectSuite } from './connect-suite.ts';
import { runCredentialsSuite, showCredentialsSuite } from './credentials-suite.ts';
import { runGatewaySuite, showGatewaySuite } from './gateway-suite.ts';
import { runGovernanceSuite, showGovernanceSuite } from './governance-suite.ts';
import { runListSuite, showListSuite } from './list-suite.ts';
import { runStartUpSuite, showStartUpSuite } from './start-up-suite.ts';

const { values } = parseArgs({
  options: {
    reps: { type: 'string', default: '5' },
    calls: { type: 'string', default: '3000' },
    'warm-up': { type: 'string', default: '2000' },
    only: { type: 'string' },
    suites: { type: 'string', default: 'stdio,http,start-up,connect,list,credentials,governance,background,builtin' },
    json: { type: 'boolean', default: false },
  },
});
const [reps, calls, warmUp] = [Number(values.reps), Number(values.calls), Number(values['warm-up'])];
const only = values.only?.split(',');
const results: Record<string, unknown> = { node: process.version, date: new Date().toISOString(), reps, calls, warmUp };

for (const suite of values.suites.split(',')) {
  if (suite === 'start-up') {
    const measured = await runStartUpSuite(reps);
    results[suite] = measured;
    if (!values.json) process.stdout.write(showStartUpSuite(measured));
  } else if (suite === 'connect') {
    const measured = await runConnectSuite(reps);
    results[suite] = measured;
    if (!values.json) process.stdout.write(showConnectSuite(measured));
  } else if (suite === 'list') {
    const measured = await runListSuite(reps);
    results[suite] = measured;
    if (!values.json) process.stdout.write(showListSuite(measured));
  } else if (suite === 'credentials') {
    const measured = await runCredentialsSuite({ reps, calls });
    results[suite] = measured;
    if (!values.json) process.stdout.write(showCredentialsSuite(measured));
  } else if (suite === 'governance') {
    const measured = await runGovernanceSuite({ reps, calls, warmUp });
    results[suite] = measured;
    if (!values.json) process.stdout.write(showGovernanceSuite(measured));
  } else if (suite === 'background') {
    const measured = await runBackgroundSuite({ reps, calls });
    results[suite] = measured;
    if (!values.json) process.stdout.write(showBackgroundSuite(measured));
  } else if (suite === 'builtin') {
    const measured = await runBuiltinSuite({ reps });
    results[suite] = measured;
    if (!values.json) process.stdout.write(showBuiltinSuite(measured));
  } else if (suite === 'stdio' || suite === 'http') {
    const measured = await runGatewaySuite({ kind: suite, reps, calls, warmUp, only });
    results[suite] = measured;
    if (!values.json) process.stdout.write(showGatewaySuite(suite, measured));
  } else {
    throw new Error(
      `${suite} is not a suite; those are stdio, http, start-up, connect, list, credentials, governance, background and builtin.`,
    );
  }
}
if (values.json) process.stdout.write(`${JSON.stringify(results)}\n`);
