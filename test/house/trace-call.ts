import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { authenticator } from '../../src/gateway/auth/authenticate.ts';
import { openGateway } from '../../src/gateway/open-gateway.ts';
import { openHeddle } from '../../src/open-heddle.ts';

// Prints the files of src that run in every one of three equal calls: `POST /mcp tools/call` to a stdio server.

const ROOT = join(import.meta.dirname, '..', '..');
const SOURCE = `file://${join(ROOT, 'src')}/`;
const TOKEN = 'token';
const BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'mcp__odd__plain', arguments: { message: 'hi' } },
});

const cwd = mkdtempSync(join(tmpdir(), 'heddle-trace-'));
const odd = { command: process.execPath, args: [join(ROOT, 'test/servers/odd-tools.mjs')] };
const env = { PATH: process.env.PATH, HEDDLE_HOME: join(cwd, 'home') };
const heddle = await openHeddle({ cwd, env, servers: { odd } });
const gateway = await openGateway({
  heddle,
  host: '127.0.0.1',
  port: 0,
  maxBodyBytes: 1024 * 1024,
  allowedHosts: [],
  allowedOrigins: [],
  authenticate: authenticator({ token: TOKEN, access: heddle.access, clock: () => 0 }),
  api: async () => {},
});
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
for (let warmUp = 0; warmUp < 2; warmUp++) await call();
await filesRun();
const runs: Set<string>[] = [];
for (let time = 0; time < 3; time++) {
  await call();
  runs.push(await filesRun());
}
const [first = new Set(), ...others] = runs;
process.stdout.write(JSON.stringify([...first].filter((file) => others.every((run) => run.has(file))).sort()));
await gateway.close();
await heddle.close();
rmSync(cwd, { recursive: true, force: true });

/** Returns the files whose functions ran since the last time. */
async function filesRun(): Promise<Set<string>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ran = result.filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0));
  return new Set(ran.filter(({ url }) => url.startsWith(SOURCE)).map(({ url }) => url.slice(SOURCE.length)));
}

/** Makes the call over a new connection, with the headers of an ordinary client. */
function call(): Promise<void> {
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(BODY),
    authorization: `Bearer ${TOKEN}`,
    connection: 'keep-alive',
  };
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: gateway.port, path: '/mcp', method: 'POST', headers, agent: false };
    const sent = request(options, (response) => {
      response.resume();
      response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`))));
    });
    sent.on('error', reject);
    sent.end(BODY);
  });
}
