import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { environment, inWords, passedIn, readScenarios, report, runSuite, wrongIn } from './conformance-suite.mjs';
import { nodePath, ROOT } from './install.mjs';

/**
 * Clients of each era with a server of each behind the gateway. How many scenarios there are and how many checks pass
 * at least: a scenario that finds nothing to check would pass, too.
 */
const RUNS = [
  { revision: '2026-07-28', era: 'modern', carrier: 'http', scenarios: 50, least: 168 },
  { revision: '2025-11-25', era: 'legacy', carrier: 'http', scenarios: 33, least: 80 },
  { revision: '2026-07-28', era: 'legacy', carrier: 'http', scenarios: 50, least: 159 },
  { revision: '2025-11-25', era: 'modern', carrier: 'stdio', scenarios: 33, least: 80 },
];
const EXPECTED = 'test/conformance/expected-failures.json';

/** The suite plays the client, `heddle up` the server, and behind it is one that has all the suite looks for. */
export async function asServer() {
  const expected = JSON.parse(readFileSync(join(ROOT, EXPECTED), 'utf8'));
  for (const run of RUNS) {
    const name = `${run.revision} with a ${run.era} server`;
    const { folder, output } = await play(`server, ${name}`, run);
    report(...judge(name, { ...run, played: readScenarios(folder), expected: expected[name] ?? [], output }));
  }
}

async function play(name, { revision, era, carrier }) {
  const stage = await openStage(era, carrier);
  try {
    return await runSuite(name, ['server', '--url', stage.url, '--requirements', revision]);
  } finally {
    await stage.close();
  }
}

/** It goes when its input ends, so also when this process does. */
async function openStage(era, carrier) {
  const child = spawn(nodePath(), [join(ROOT, 'test', 'conformance', 'stage.ts'), era, carrier], {
    env: environment(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  const [url] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), gone.then(() => [])]);
  const close = async () => {
    child.stdin.end();
    await gone;
  };
  if (url !== undefined) return { url, close };
  throw new Error(`The stage for a ${era} server could not be set.`);
}

function judge(name, { scenarios, least, played, expected, output }) {
  const all = [...played].map(([scenario, { checks }]) => [scenario.replace(/^server-/, ''), checks]);
  const passed = all.reduce((sum, [, checks]) => sum + passedIn(checks), 0);
  const foreseen = (scenario) => expected.filter((one) => one.scenario === scenario);
  const failed = all.flatMap(([scenario, checks]) => {
    const known = foreseen(scenario);
    const found = wrongIn(checks);
    const isKnown = (check) => known.some((one) => one.check === undefined || one.check === check.id);
    const stale = known.filter(({ check }) => !found.some(({ id }) => check === undefined || check === id));
    const wrong = [
      ...found.filter((check) => !isKnown(check)).map(inWords),
      ...stale.map(({ check = 'all of it' }) => `It passes now: take it out of ${EXPECTED} (${check}).`),
    ];
    return wrong.length > 0 ? [{ name: scenario, wrong }] : [];
  });
  const isShort = all.length < scenarios || passed < least;
  const short = `Only ${all.length} scenarios ran and ${passed} checks passed: ${scenarios} and ${least} have to.`;
  if (isShort) failed.push({ name: 'the run', wrong: [short, ...(all.length === 0 ? [output] : [])] });
  const known = expected.length > 0 ? `, ${expected.length} failures expected` : '';
  return [`server, ${name}: ${all.length} scenarios, ${passed} checks passed${known}`, failed];
}
