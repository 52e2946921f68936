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
const QUESTIONS = [
  { jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO },
  { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} },
];

/** Times how long it takes until ten local servers have shaken hands and listed their tools, in turn: bare, then Heddle. */
export async function runConnectSuite(reps: number): Promise<readonly ConnectResult[]> {
  const candidates: Readonly<Record<string, () => Promise<number>>> = {
    [BARE]: () => timeBare(SERVERS),
    'ten bare spawns, three at a time as Heddle does': () => timeBare(3),
    'heddle, in pid namespaces where there are any': () => timeHeddle({}),
    'heddle, by process group': () => timeHeddle({ HEDDLE_PID_NAMESPACE: 'off' }),
  };
  const times = new Map(Object.keys(candidates).map((name): [string, number[]] => [name, []]));
  for (const time of Object.values(candidates)) await time(); // The first one fills the caches.
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
  const title = `\nConnecting ten stdio servers: ratio to ${BARE} with a handshake in the same round, median (lowest–highest)\n`;
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
  // In a session of its own, as Heddle's are: on a busy machine Linux shares its time out by session.
  const child = spawn(process.execPath, [ECHO, 'stdio'], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const answered = Promise.withResolvers<void>();
  const ask = (at: number) => child.stdin.write(`${JSON.stringify(QUESTIONS[at])}\n`);
  readLines(child.stdout, (line) => {
    if (JSON.parse(line).id === QUESTIONS.length) return answered.resolve();
    child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    ask(1);
  });
  ask(0);
  await answered.promise;
  return child;
}

async function endBare(child: Child): Promise<void> {
  child.stdin.end();
  if (child.exitCode === null) await once(child, 'exit');
}

/** Opening is not measured, connecting is; every Heddle is a new one that knows none of its servers yet. */
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
    const lost = states.find(({ state, tools }) => state !== 'connected' || tools !== 1);
    if (lost) throw new Error(`${lost.name} is ${lost.state}: ${lost.reason}`);
    return took;
  } finally {
    await heddle.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
