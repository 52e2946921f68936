import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { environment, readScenarios, report, runSuite } from './conformance-suite.mjs';
import { EXPECTED, judge } from './conformance-verdict.mjs';
import { nodePath, ROOT } from './install.mjs';

/**
 * Clients of each era with a server of each era behind the gateway. `scenarios` and `least` are the minimum numbers of
 * scenarios and of passed checks: a scenario without checks would pass, too.
 */
const RUNS = [
  { revision: '2026-07-28', era: 'modern', carrier: 'http', scenarios: 50, least: 196 },
  { revision: '2025-11-25', era: 'legacy', carrier: 'http', scenarios: 33, least: 80 },
  { revision: '2026-07-28', era: 'legacy', carrier: 'http', scenarios: 50, least: 162 },
  { revision: '2025-11-25', era: 'modern', carrier: 'stdio', scenarios: 33, least: 80 },
];

/** Tests `heddle up` as a server for the suite's client, with an upstream server that has all features of the suite. */
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

/** Starts the gateway and its server. They end when their stdin closes, so also when this process ends. */
async function openStage(era, carrier) {
  const child = spawn(nodePath(), [join(ROOT, 'test', 'conformance', 'stage.ts'), era, carrier], {
    env: environment(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [url] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), exited.then(() => [])]);
  const close = async () => {
    child.stdin.end();
    await exited;
  };
  if (url !== undefined) return { url, close };
  throw new Error(`The gateway with a ${era} server did not start.`);
}
