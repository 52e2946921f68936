import { AUTH_2025, AUTH_2025_03, AUTH_2026, AUTH_EXTENSIONS } from './conformance-auth.mjs';
import { readScenarios, report, runSuite } from './conformance-suite.mjs';
import { describeCheck, passedIn, wrongIn } from './conformance-verdict.mjs';

const CLIENT = 'node test/conformance/client.ts'; // The suite splits it at spaces, so it must not contain an absolute path.
const PLAYED = 'played to the end';

/**
 * The minimum of passed checks per scenario. Some scenarios only check the messages that a client sends, so they
 * would pass for a client that sends none.
 */
const SCENARIOS = {
  '2025-03-26': AUTH_2025_03,
  '2025-11-25': {
    initialize: 1,
    tools_call: 2,
    'elicitation-sep1034-client-defaults': 5,
    'sse-retry': 3,
    'json-schema-2020-12-preservation': 9,
    ...AUTH_2025,
    ...AUTH_EXTENSIONS,
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
    ...AUTH_2026,
    ...AUTH_EXTENSIONS,
  },
};

/**
 * Tests Heddle's library as a client of the suite's server. Runs one scenario at a time: the suite would start the
 * clients of all scenarios at once, and on a small machine they would time out.
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
  // Scenarios of extensions belong to no revision, so the suite has to be forced.
  const args = ['client', '--command', CLIENT, '--scenario', name, '--spec-version', revision, '--force'];
  const { folder, output } = await runSuite(`client, ${revision}, ${name}`, args);
  const found = readScenarios(folder).get(name);
  return found ? judge(name, { least, found }) : { name, passed: 0, wrong: ['The suite did not run it.', output] };
}

function judge(name, { least, found }) {
  const passed = passedIn(found.checks);
  const wrong = wrongIn(found.checks).map(describeCheck);
  if (passed < least) wrong.push(`Only ${passed} checks passed; at least ${least} must pass.`);
  if (!found.text('stdout.txt').includes(PLAYED)) {
    wrong.push(`The client did not finish.\n${found.text('stderr.txt').trimEnd()}`);
  }
  return { name, passed, wrong };
}
