import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load, openClient } from './load-client.ts';
import { cpuMicroseconds, residentMegabytes } from './process-usage.ts';
import { type Running, startProgram } from './start-program.ts';

export type UpstreamKind = 'stdio' | 'http';

/** A gateway to measure. `args` returns the arguments of Node that start it; undefined measures the upstream itself. */
export interface Candidate {
  readonly name: string;
  readonly kind: UpstreamKind;
  readonly args: ((configFile: string) => readonly string[]) | undefined;
  /** Flags of Node before the arguments. */
  readonly nodeFlags?: readonly string[];
  /** Written to heddle.json beside the server. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

export interface Measurement {
  readonly callsPerSecond: number;
  /** CPU time of the gateway's own process in µs, without the upstream. */
  readonly cpuPerCall: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly idleMegabytes: number;
  readonly loadedMegabytes: number;
}

/** The numbers of calls before and during the measurement. */
export interface Amount {
  readonly warmUp: number;
  readonly calls: number;
}

const HERE = import.meta.dirname;
const ECHO_SERVER = join(HERE, 'echo-server.ts');
const SINGLE_CALLS = 500;
const CLIENTS = 32;
const MESSAGE = 'hello world, this is a small payload of ordinary size';

/** The arguments that start the gateway of a clone. */
export const heddleOf = (root: string) => (config: string) => [
  join(root, 'bin', 'heddle'),
  'up',
  '--port',
  '0',
  '--config',
  config,
  '--json',
];
export const HEDDLE = join(HERE, '..');
const heddle = heddleOf(HEDDLE);
const script = (name: string) => (config: string) => [join(HERE, name), config];
const PEERS = ['mcp-proxy', 'supergateway'].filter(isInstalled);

/** All candidates. Those of one kind are compared with its baseline. */
export const CANDIDATES: readonly Candidate[] = [
  { name: 'bare-bridge', kind: 'stdio', args: script('bare-bridge.ts') },
  { name: 'heddle', kind: 'stdio', args: heddle },
  { name: 'naive-sdk', kind: 'stdio', args: script('naive-sdk.ts') },
  ...PEERS.map((name) => ({ name, kind: 'stdio' as const, args: peer(name) })),
  { name: 'bare-proxy', kind: 'http', args: script('bare-proxy.ts') },
  { name: 'direct', kind: 'http', args: undefined },
  { name: 'heddle', kind: 'http', args: heddle },
  { name: 'naive-sdk', kind: 'http', args: script('naive-sdk.ts') },
];

export const BASELINES: Readonly<Record<UpstreamKind, string>> = { stdio: 'bare-bridge', http: 'bare-proxy' };

/** Tells whether another project's gateway is installed in the folder `BENCH_PEERS`. */
function isInstalled(name: string): boolean {
  const folder = process.env.BENCH_PEERS;
  return folder !== undefined && existsSync(join(folder, name));
}

function peer(name: string): (config: string) => readonly string[] {
  return (config) => [join(HERE, 'peer.ts'), name, config];
}

/** Starts a candidate and its own upstream in new processes, and measures it under load. */
export async function measureGateway(candidate: Candidate, { calls, warmUp }: Amount): Promise<Measurement> {
  return withGateway(candidate, [], async (gateway) => {
    const client = await openClient(gateway.url, gateway.token);
    const call = () => client.echo(MESSAGE);
    await load(call, 1, 1);
    const idleMegabytes = residentMegabytes(gateway.pid);
    await load(call, warmUp, CLIENTS);
    const before = cpuMicroseconds(gateway.pid);
    const { callsPerSecond } = await load(call, calls, CLIENTS);
    const cpuPerCall = (cpuMicroseconds(gateway.pid) - before) / calls;
    const { p50Ms, p99Ms } = await load(call, SINGLE_CALLS, 1);
    const loadedMegabytes = residentMegabytes(gateway.pid);
    client.close();
    return { callsPerSecond, cpuPerCall, p50Ms, p99Ms, idleMegabytes, loadedMegabytes };
  });
}

/** Starts a candidate with these flags of Node, calls `use`, and stops the candidate. */
export async function withGateway<T>(
  { kind, args, nodeFlags = [], settings }: Candidate,
  moreFlags: readonly string[],
  use: (gateway: Running) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const env = { HEDDLE_HOME: join(folder, 'home') };
  const running: Running[] = [];
  try {
    const upstream = kind === 'http' ? await startProgram({ args: [ECHO_SERVER, 'http'], cwd: folder }) : undefined;
    if (upstream) running.push(upstream);
    const configFile = join(folder, 'heddle.json');
    const server = upstream ? { url: upstream.url } : { command: process.execPath, args: [ECHO_SERVER, 'stdio'] };
    writeFileSync(configFile, JSON.stringify({ ...settings, mcpServers: { upstream: server } }));
    if (upstream && !args) return await use(upstream);
    const gateway = await startProgram({
      args: [...nodeFlags, ...moreFlags, ...(args?.(configFile) ?? [])],
      cwd: folder,
      env,
    });
    running.push(gateway);
    return await use(gateway);
  } finally {
    for (const one of running.reverse()) await one.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
