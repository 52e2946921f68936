import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { openStore } from '../src/store/open-store.ts';
import { load, openClient } from './load-client.ts';
import { HEDDLE, heddleOf } from './measure-gateway.ts';
import { median, type Ratio, ratioOf, showRatio, table } from './ratios.ts';
import { startProgram } from './start-program.ts';

export interface BackgroundResult {
  readonly name: string;
  readonly records: number;
  /** Each to the turns without the command: 32 clients, then one. */
  readonly callsPerSecond: Ratio;
  readonly p99Ms: Ratio;
}

interface Load {
  readonly callsPerSecond: number;
  readonly p99Ms: number;
}

const RECORDS = 1_000_000;
const SIMULATED = 100_000;
const BATCH = 20_000;
const CLIENTS = 32;
const TURNS = 10;
const MESSAGE = 'hello world, this is a small payload of ordinary size';

/** Measures calls through a gateway while a command of another process reads the audit log, and while it is held, in turns. */
export async function runBackgroundSuite(options: {
  readonly reps: number;
  readonly calls: number;
}): Promise<readonly BackgroundResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const candidate = join(folder, 'candidate.yaml');
  const rule = {
    name: 'none',
    effect: 'deny',
    tools: ['mcp__upstream__echo'],
    when: 'args.message == "x"',
    reason: 'x',
  };
  writeFileSync(candidate, JSON.stringify({ policies: [rule] }));
  try {
    return [
      await measureBeside(['audit', 'search', '--text', 'no such text'], RECORDS, { ...options, folder }),
      await measureBeside(['policy', 'simulate', '--candidate', candidate], SIMULATED, { ...options, folder }),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function showBackgroundSuite(results: readonly BackgroundResult[]): string {
  const rows = results.map(({ name, records, callsPerSecond, p99Ms }) => [
    ...[name, String(records), showRatio(callsPerSecond), showRatio(p99Ms)],
  ]);
  return [
    '\nCalls beside another command: ratio to the same gateway without it, median (lowest–highest)\n',
    table([['', 'records', 'calls/s ratio', 'p99 ratio'], ...rows]),
  ].join('');
}

async function measureBeside(
  words: readonly string[],
  records: number,
  { reps, calls, folder }: { readonly reps: number; readonly calls: number; readonly folder: string },
): Promise<BackgroundResult> {
  const name = words.slice(0, 2).join(' ');
  const home = join(folder, name.replace(' ', '-'));
  const env = { HEDDLE_HOME: home };
  const config = join(folder, 'heddle.json');
  const echo = { command: process.execPath, args: [join(import.meta.dirname, 'echo-server.ts'), 'stdio'] };
  writeFileSync(config, JSON.stringify({ mcpServers: { upstream: echo } }));
  if (records > SIMULATED) await writeRecords(home, records);
  const gateway = await startProgram({ args: heddleOf(HEDDLE)(config), cwd: folder, env });
  const measured: Record<'alone' | 'beside', Load[]> = { alone: [], beside: [] };
  try {
    const client = await openClient(gateway.url, gateway.token);
    const call = () => client.echo(MESSAGE);
    if (records <= SIMULATED) await load(call, records, CLIENTS);
    for (let rep = 1; rep <= reps; rep++) {
      const command = repeatCommand([join(HEDDLE, 'bin', 'heddle'), ...words, '--config', config], folder, env);
      const turns: Record<'alone' | 'beside', Load[]> = { alone: [], beside: [] };
      for (let turn = 0; turn < TURNS; turn++) {
        for (const kind of turn % 2 === 0 ? (['alone', 'beside'] as const) : (['beside', 'alone'] as const)) {
          await command.hold(kind === 'alone');
          const { callsPerSecond } = await load(call, calls / TURNS, CLIENTS);
          const { p99Ms } = await load(call, calls / TURNS, 1);
          turns[kind].push({ callsPerSecond, p99Ms });
        }
      }
      measured.alone.push(medianOf(turns.alone));
      measured.beside.push(medianOf(turns.beside));
      process.stderr.write(`background ${rep}/${reps} ${name}: ended ${await command.stop()} times\n`);
    }
    client.close();
  } finally {
    await gateway.close();
  }
  const column = (kind: 'alone' | 'beside', key: keyof Load) => measured[kind].map((one) => one[key]);
  const ratio = (key: keyof Load) => ratioOf(column('beside', key), column('alone', key));
  return { name, records, callsPerSecond: ratio('callsPerSecond'), p99Ms: ratio('p99Ms') };
}

const medianOf = (turns: readonly Load[]): Load => ({
  callsPerSecond: median(turns.map((one) => one.callsPerSecond)),
  p99Ms: median(turns.map((one) => one.p99Ms)),
});

interface RepeatedCommand {
  /** Stops the command with SIGSTOP, or lets it go on. Resolves once the command reads: it has lowered its priority. */
  hold(isHeld: boolean): Promise<void>;
  /** Ends the command, and returns how often it has ended before. */
  stop(): Promise<number>;
}

/** Runs the command again and again. */
function repeatCommand(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): RepeatedCommand {
  let isStopped = false;
  let times = 0;
  let failure: string | undefined;
  let child: ReturnType<typeof spawn> | undefined;
  const repeating = (async () => {
    while (!isStopped && failure === undefined) {
      child = spawn(process.execPath, args, {
        cwd,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let stderr = '';
      child.stderr?.on('data', (chunk) => {
        stderr = (stderr + chunk).slice(-2000);
      });
      const [code] = await once(child, 'close');
      if (code === 0) times++;
      else if (!isStopped) failure = stderr;
    }
  })();
  return {
    async hold(isHeld) {
      child?.kill('SIGCONT');
      while (failure === undefined && !(child?.pid && isLowered(child.pid))) await setTimeout(10);
      if (isHeld) child?.kill('SIGSTOP');
    },
    async stop() {
      isStopped = true;
      child?.kill('SIGCONT');
      child?.kill('SIGINT');
      await repeating;
      if (failure !== undefined) throw new Error(`heddle ${args.slice(1).join(' ')} failed: ${failure}`);
      return times;
    },
  };
}

function isLowered(pid: number): boolean {
  try {
    return getPriority(pid) > getPriority();
  } catch {
    return false; // It has ended; the next one starts.
  }
}

/** Writes opening records of calls, a million in less than a minute. */
async function writeRecords(home: string, count: number): Promise<void> {
  const store = await openStore({ location: join(home, 'heddle.sqlite'), home });
  const record = (at: number) => ({
    ...{ callId: crypto.randomUUID(), phase: 'intent' as const, at: Date.now(), caller: 'key:bench', via: 'gateway' },
    name: 'mcp__upstream__echo',
    detail: {
      ...{ servers: ['upstream'], tool: 'digest', decision: 'allow', rule: 'mode', input: 'digest', roles: ['user'] },
      arguments: { message: `${MESSAGE} ${at}` },
    },
  });
  for (let at = 1; at <= count; at++) {
    if (at % BATCH === 0 || at === count) await store.audit.appendDurably(record(at));
    else store.audit.append(record(at));
  }
  await store.close();
}
