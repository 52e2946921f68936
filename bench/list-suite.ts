import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuMicroseconds } from './process-usage.ts';
import { median, type Ratio, ratioOf, showRatio, table } from './ratios.ts';
import { type Running, startProgram } from './start-program.ts';

interface Measurement {
  readonly wallMs: number;
  /** CPU time of the gateway's own process. */
  readonly cpuMs: number;
}

export interface ListResult {
  readonly name: string;
  readonly tools: number;
  readonly measurements: readonly Measurement[];
  readonly wall: Ratio;
  readonly cpu: Ratio;
}

const HERE = import.meta.dirname;
const LISTS = 60;
const WARM_UP = 20;
const SIZES = [1000, 10_000];
const CANDIDATES: Readonly<Record<string, (config: string) => readonly string[]>> = {
  'naive-sdk': (config) => [join(HERE, 'naive-sdk.ts'), config],
  heddle: (config) => [join(HERE, '..', 'bin', 'heddle'), 'up', '--port', '0', '--config', config, '--json'],
};

/** Measures listing all pages of tools after the first time, compared with a gateway of the SDK. */
export async function runListSuite(reps: number): Promise<readonly ListResult[]> {
  const results: ListResult[] = [];
  for (const tools of SIZES) {
    const measured = Object.keys(CANDIDATES).map((name) => ({ name, measurements: [] as Measurement[] }));
    for (let rep = 1; rep <= reps; rep++) {
      for (const { name, measurements } of measured) {
        measurements.push(await measure(name, tools));
        process.stderr.write(`list ${tools} ${rep}/${reps} ${name}: ${measurements.at(-1)?.cpuMs.toFixed(2)} ms CPU\n`);
      }
    }
    const baseline = measured[0]?.measurements ?? [];
    const column = (all: readonly Measurement[], key: keyof Measurement) => all.map((one) => one[key]);
    for (const { name, measurements } of measured) {
      const ratio = (key: keyof Measurement) => ratioOf(column(measurements, key), column(baseline, key));
      results.push({ name, tools, measurements, wall: ratio('wallMs'), cpu: ratio('cpuMs') });
    }
  }
  return results;
}

export function showListSuite(results: readonly ListResult[]): string {
  const rows = results.map(({ name, tools, measurements, wall, cpu }) => [
    `${name}, ${tools} tools`,
    showRatio(wall),
    showRatio(cpu),
    median(measurements.map(({ wallMs }) => wallMs)).toFixed(2),
    median(measurements.map(({ cpuMs }) => cpuMs)).toFixed(2),
  ]);
  const head = ['', 'time ratio', 'CPU ratio', 'ms (context)', 'ms CPU (context)'];
  return `\nAll of tools/list, after the first time: ratio to naive-sdk in the same repetition\n${table([head, ...rows])}`;
}

async function measure(name: string, tools: number): Promise<Measurement> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  let gateway: Running | undefined;
  try {
    const config = join(folder, 'heddle.json');
    const many = { command: process.execPath, args: [join(HERE, 'many-tools-server.ts'), String(tools)] };
    const builtins = { filesystem: { enabled: false } }; // Its tools would add a page.
    writeFileSync(config, JSON.stringify({ mcpServers: { many }, builtins }));
    const args = CANDIDATES[name]?.(config) ?? [];
    gateway = await startProgram({ args, cwd: folder, env: { HEDDLE_HOME: join(folder, 'home') } });
    const client = await openLister(gateway, tools);
    for (let count = 0; count < WARM_UP; count++) await client.list();
    const [before, startedAt] = [cpuMicroseconds(gateway.pid), performance.now()];
    for (let count = 0; count < LISTS; count++) await client.list();
    const wallMs = (performance.now() - startedAt) / LISTS;
    const cpuMs = (cpuMicroseconds(gateway.pid) - before) / 1000 / LISTS;
    client.close();
    return { wallMs, cpuMs };
  } finally {
    await gateway?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Opens a client that reads every page and parses only the next cursor, to keep its own cost low. */
async function openLister({ url, token }: Running, expected: number) {
  const agent = new Agent({ keepAlive: true });
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };

  function post(method: string, params: object, id?: number) {
    const { promise, resolve, reject } = Promise.withResolvers<{ text: string; session: string | undefined }>();
    const sending = request(url, { agent, method: 'POST', headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk)).on('error', reject);
      const session = response.headers['mcp-session-id'] as string | undefined;
      response.on('end', () => resolve({ text: Buffer.concat(chunks).toString('utf8'), session }));
    });
    sending.on('error', reject).end(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return promise;
  }

  const clientInfo = { name: 'bench', version: '1.0.0' };
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const { session } = await post('initialize', hello, 0);
  if (session !== undefined) headers['mcp-session-id'] = session;
  await post('notifications/initialized', {});

  async function list(onPage: (text: string) => void = () => {}): Promise<void> {
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const { text } = await post('tools/list', cursor === undefined ? {} : { cursor }, 1);
      onPage(text);
      cursor = /"nextCursor":"([^"]+)"/.exec(text.slice(-500))?.[1];
    }
  }
  let found = 0;
  await list((text) => {
    found += text.split('"title":"List things ').length - 1;
  });
  if (found !== expected) throw new Error(`${url} lists ${found} tools, not ${expected}.`);
  return { list, close: () => agent.destroy() };
}
