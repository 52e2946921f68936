import { readScenarios, report, runSuite } from './conformance-suite.mjs';
import { inWords, passedIn, wrongIn } from './conformance-verdict.mjs';

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

/**
 * The suite plays the server, Heddle's library the client. One scenario after the other: by itself the suite starts the
 * clients of all of them at once, which on a small machine makes them too slow for each other.
 */
export async function asClient() {
  for (const [revision, scenarios] of Object.entries(SCENARIOS)) {
    const verdicts = [];
    for (const [name, least] of Object.entries(scenarios)) verdicts.push(await play(name, revision, least));
    const failed = verdicts.filter(({ wrong }) => wrong.length > 0);
    const passed = verdicts.reduce((sum, verdict) => sum + verdict.passed, 0);
    const good = `${verdicts.length - failed.length} of ${verdicts.length} scenarios, ${passed} checks passed`;
    report(`client, ${revision}: ${good}`, failed);
  }
}

async function play(name, revision, least) {
  const args = ['client', '--command', CLIENT, '--scenario', name, '--spec-version', revision];
  const { folder, output } = await runSuite(`client, ${revision}, ${name}`, args);
  const found = readScenarios(folder).get(name);
  return found ? judge(name, { least, found }) : { name, passed: 0, wrong: ['The suite has not run it.', output] };
}

function judge(name, { least, found }) {
  const passed = passedIn(found.checks);
  const wrong = wrongIn(found.checks).map(inWords);
  if (passed < least) wrong.push(`Only ${passed} checks passed, and ${least} have to.`);
  if (!found.text('stdout.txt').includes(PLAYED)) {
    wrong.push(`The client did not come to its end.\n${found.text('stderr.txt').trimEnd()}`);
  }
  return { name, passed, wrong };
}
