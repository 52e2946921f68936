import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { openHeddle } from '../src/index.ts';
import { readLines } from './plain-server.ts';
import { median, type Ratio, ratioOf, showRatio, table } from './ratios.ts';

export interface ConnectResult {
  readonly name: string;
  readonly milliseconds: readonly number[];
  readonly ratio: Ratio;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

const SERVERS = 10;
const ECHO = join(import.meta.dirname, 'echo-server.ts');
const BARE = 'ten bare spawns';
const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } };
const REQUESTS = [
  { jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO },
  { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} },
];

/** Measures the time to connect to ten local servers and list their tools, in turn: bare, then Heddle. */
export async function runConnectSuite(reps: number): Promise<readonly ConnectResult[]> {
  const candidates: Readonly<Record<string, () => Promise<number>>> = {
    [BARE]: () => timeBare(SERVERS),
    'ten bare spawns, three at a time as Heddle does': () => timeBare(3),
    'heddle, in pid namespaces where there are any': () => timeHeddle({}),
    'heddle, by process group': () => timeHeddle({ HEDDLE_PID_NAMESPACE: 'off' }),
  };
  const times = new Map(Object.keys(candidates).map((name): [string, number[]] => [name, []]));
  for (const time of Object.values(candidates)) await time(); // The first run fills the caches.
  for (let rep = 0; rep < reps; rep++) {
    for (const [name, time] of Object.entries(candidates)) times.get(name)?.push(await time());
  }
  const bare = times.get(BARE) ?? [];
  return [...times].map(([name, milliseconds]) => ({ name, milliseconds, ratio: ratioOf(milliseconds, bare) }));
}

export function showConnectSuite(results: readonly ConnectResult[]): string {
  const rows = results.map(({ name, milliseconds, ratio }) => [
    name,
    showRatio(ratio),
    median(milliseconds).toFixed(0),
  ]);
  const title = `\nConnecting ten stdio servers: ratio to ${BARE} with a handshake in the same repetition, median (lowest–highest)\n`;
  return title + table([['', 'ratio', 'ms'], ...rows]);
}

async function timeBare(atOnce: number): Promise<number> {
  const startedAt = performance.now();
  const children: Child[] = [];
  let left = SERVERS;
  const connectSome = async () => {
    while (left-- > 0) children.push(await connectBare());
  };
  await Promise.all(Array.from({ length: atOnce }, connectSome));
  const took = performance.now() - startedAt;
  await Promise.all(children.map(endBare));
  return took;
}

async function connectBare(): Promise<Child> {
  // In its own session, like Heddle's children: on a busy machine Linux divides processor time by session.
  const child = spawn(process.execPath, [ECHO, 'stdio'], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const listed = Promise.withResolvers<void>();
  const send = (at: number) => child.stdin.write(`${JSON.stringify(REQUESTS[at])}\n`);
  readLines(child.stdout, (line) => {
    if (JSON.parse(line).id === REQUESTS.length) return listed.resolve();
    child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    send(1);
  });
  send(0);
  await listed.promise;
  return child;
}

async function endBare(child: Child): Promise<void> {
  child.stdin.end();
  if (child.exitCode === null) await once(child, 'exit');
}

/** Measures connecting, without opening Heddle. Each instance is new and has no cached servers. */
async function timeHeddle(variables: Readonly<Record<string, string>>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const echo = { command: process.execPath, args: [ECHO, 'stdio'] };
  const names = Array.from({ length: SERVERS }, (_, at) => `echo-${at}`);
  const configFile = join(folder, 'heddle.json');
  writeFileSync(configFile, JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, echo])) }));
  const env = { ...process.env, ...variables, HEDDLE_HOME: join(folder, 'home') };
  const heddle = await openHeddle({ configFile, cwd: folder, env });
  try {
    const startedAt = performance.now();
    const states = await Promise.all(names.map((name) => heddle.servers.connect(name)));
    const took = performance.now() - startedAt;
    const failed = states.find(({ state, tools }) => state !== 'connected' || tools !== 1);
    if (failed) throw new Error(`${failed.name} is ${failed.state}: ${failed.reason}`);
    return took;
  } finally {
    await heddle.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
