import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import type { Readable } from 'node:stream';
import { measureDatabases } from './measure-databases.ts';
import { type BuiltinResult, measureInTurn } from './measure-in-turn.ts';
import { showRatio, table } from './ratios.ts';

interface Sizes {
  readonly reps: number;
  /** Files that are searched. */
  readonly files?: number;
}

const ROOT = join(import.meta.dirname, '..');
const REFERENCE = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
const BASELINE = 'server-filesystem';
const PATTERN = '**/needle-*.txt';
const LISTED = 1000;
const PER_FOLDER = 100;
const IN_FLIGHT = 8;

/** A piece of work: how many times, and how each candidate does it. */
interface Job {
  readonly name: string;
  readonly times: number;
  readonly heddle: readonly [string, object];
  readonly reference: readonly [string, object];
  readonly plain: () => Promise<unknown>;
}

/**
 * Measures the built-in file tools and the reference server over stdio, in turn, and plain `fs` in this process; then
 * the databases of the built-in server and their bare drivers, in this process.
 */
export async function runBuiltinSuite({ reps, files = 50_000 }: Sizes): Promise<readonly BuiltinResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const servers: StdioServer[] = [];
  try {
    layFiles(folder, files);
    const heddle = await openServer([join(ROOT, 'bin/heddle'), 'builtin', 'filesystem', folder, '--read-only'], folder);
    servers.push(heddle);
    const reference = await openServer([REFERENCE, folder], folder);
    servers.push(reference);
    const results: BuiltinResult[] = [];
    for (const { name, times, ...job } of jobsIn(folder)) {
      const candidates = [
        { name: BASELINE, run: () => reference.call(...job.reference) },
        { name: 'heddle', run: () => heddle.call(...job.heddle) },
        { name: 'plain fs', run: job.plain },
      ];
      results.push(...(await measureInTurn({ job: name, times, reps, inFlight: IN_FLIGHT, candidates })));
    }
    return [...results, ...(await measureDatabases(folder, reps))];
  } finally {
    for (const server of servers) await server.close();
    rmSync(folder, { recursive: true });
  }
}

export function showBuiltinSuite(results: readonly BuiltinResult[]): string {
  const rows = results.map(({ job, name, rate, median }) => [`${job}, ${name}`, showRatio(rate), median.toFixed(1)]);
  const title = `Built-in tools: ratio to ${BASELINE} or to the bare driver in the same repetition`;
  return `\n${title}\n${table([['', 'calls/s ratio', 'calls/s (context)'], ...rows])}`;
}

function layFiles(folder: string, files: number): void {
  writeFileSync(join(folder, 'small.txt'), 'x'.repeat(1024));
  writeFileSync(join(folder, 'large.txt'), 'x'.repeat(1024 * 1024));
  mkdirSync(join(folder, 'listed'));
  for (let count = 0; count < LISTED; count++) writeFileSync(join(folder, 'listed', `entry-${count}`), 'x');
  for (let count = 0; count < files; count++) {
    const inside = join(folder, 'tree', `${Math.floor(count / PER_FOLDER / 10)}`, `${Math.floor(count / PER_FOLDER)}`);
    if (count % PER_FOLDER === 0) mkdirSync(inside, { recursive: true });
    writeFileSync(join(inside, count % 5000 === 0 ? `needle-${count}.txt` : `file-${count}.txt`), '');
  }
}

function jobsIn(folder: string): readonly Job[] {
  const read = (name: string, file: string, times: number): Job => {
    const path = join(folder, file);
    return {
      name,
      times,
      heddle: ['fs_read_file', { path }],
      reference: ['read_text_file', { path }],
      plain: () => readFile(path, 'utf8'),
    };
  };
  const [listed, tree] = [join(folder, 'listed'), join(folder, 'tree')];
  return [
    read('read 1 KB', 'small.txt', 2000),
    read('read 1 MB', 'large.txt', 200),
    {
      ...{ name: `list ${LISTED}`, times: 50, plain: () => plainList(listed) },
      heddle: ['fs_list_directory', { path: listed }],
      reference: ['list_directory_with_sizes', { path: listed }], // Reads sizes as well.
    },
    {
      ...{ name: 'search', times: 1, plain: () => plainSearch(tree) },
      heddle: ['fs_search_files', { pattern: PATTERN, rootPath: tree }],
      reference: ['search_files', { pattern: PATTERN, path: tree }],
    },
  ];
}

const plainList = async (folder: string) =>
  Promise.all((await readdir(folder)).map((name) => stat(join(folder, name))));

const plainSearch = async (folder: string) =>
  (await readdir(folder, { recursive: true })).filter((path) => matchesGlob(path, PATTERN));

interface StdioServer {
  call(name: string, input: object): Promise<void>;
  close(): Promise<void>;
}

const NEWLINE = 10;
// The id of a response is at its start or its end, and its flag `isError` close to it.
const EDGE_BYTES = 200;

/** Starts a server and returns a client that parses no content, so that the rates are those of the server. */
async function openServer(args: readonly string[], folder: string): Promise<StdioServer> {
  const env = { ...process.env, HEDDLE_HOME: join(folder, '.heddle') };
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'], env });
  const waiting = new Map<number, (edges: string) => void>();
  let lastId = 0;
  if (child.stdout) {
    readEdges(child.stdout, (edges) => waiting.get(Number(/"id":(\d+)/.exec(edges)?.[1] ?? -1))?.(edges));
  }
  const send = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const request = (method: string, params: object) =>
    new Promise<string>((resolve) => {
      const id = ++lastId;
      waiting.set(id, (edges) => {
        waiting.delete(id);
        resolve(edges);
      });
      send({ id, method, params });
    });
  const clientInfo = { name: 'bench', version: '1' };
  await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  send({ method: 'notifications/initialized' });
  return {
    async call(name, input) {
      const edges = await request('tools/call', { name, arguments: input });
      if (!edges.includes('"result":') || edges.includes('"isError":true')) throw new Error(`${name} failed: ${edges}`);
    },
    async close() {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
}

/** Calls `onLine` with the first and the last bytes of each line. */
function readEdges(stream: Readable, onLine: (edges: string) => void): void {
  let [first, last] = ['', ''];
  const add = (part: Buffer) => {
    if (first.length < EDGE_BYTES) first += part.toString('latin1', 0, EDGE_BYTES);
    last = (last + part.subarray(-EDGE_BYTES).toString('latin1')).slice(-EDGE_BYTES);
  };
  stream.on('data', (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, end));
      onLine(`${first} … ${last}`);
      [first, last] = ['', ''];
      start = end + 1;
    }
    add(chunk.subarray(start));
  });
}
