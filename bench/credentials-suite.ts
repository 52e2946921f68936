import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import type { Call, Caller, JsonObject } from '../src/core/call.ts';
import type { Heddle } from '../src/heddle.ts';
import { openHeddle } from '../src/open-heddle.ts';
import { openStore } from '../src/store/open-store.ts';
import { type Grant, SHARED_PRINCIPAL } from '../src/store/token-vault.ts';
import { generateDpopKey } from '../src/upstream/auth/dpop.ts';
import { median, type Ratio, ratioOf, showRatio, table } from './ratios.ts';

export interface CredentialsResult {
  readonly rates: readonly {
    readonly name: Credentials;
    readonly callsPerSecond: Ratio;
    readonly cpu: Ratio;
    readonly median: number;
  }[];
  /** Callers with an account each at one modern server. */
  readonly callers: {
    readonly count: number;
    /** Memory of a process per connection, after a garbage collection: the median of 3 processes. */
    readonly heapKilobytes: number;
    readonly rssKilobytes: number;
    /** Sockets between Heddle and the server right after the last call, and once idle sockets are closed. */
    readonly sockets: number;
    readonly idleSockets: number;
  };
}

const CREDENTIALS = ['none', 'bearer', 'dpop'] as const;
type Credentials = (typeof CREDENTIALS)[number];
/** The callers of `callers-memory.ts`. */
export const CALLERS = 1000;
const MEMORY_REPS = 3;
export const CONCURRENCY = 32;
const TURN = 100;
const NOTHING: Usage = { wallMs: 0, cpuMs: 0 };
const ENV = { HEDDLE_SECRET_KEY: 'bench' };
const OWNER: Caller = { id: 'library', roles: ['owner'], via: 'library' };
const YEAR_MS = 365 * 86_400_000;

/** Measures calls to a modern HTTP server without a credential, with a bearer token and with DPoP proofs. */
export async function runCredentialsSuite(options: {
  readonly reps: number;
  readonly calls: number;
}): Promise<CredentialsResult> {
  const server = await openEcho();
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  try {
    const rates = await measureRates(server, join(folder, 'rates'), options);
    return { rates, callers: await measureCallers(server, join(folder, 'callers')) };
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

export function showCredentialsSuite({ rates, callers }: CredentialsResult): string {
  const rows = rates.map(({ name, callsPerSecond, cpu, median }) => [
    ...[name, showRatio(callsPerSecond), showRatio(cpu), median.toFixed(0)],
  ]);
  const { count, heapKilobytes, rssKilobytes, sockets, idleSockets } = callers;
  return [
    `\nCredentials: ratio to no credential in the same repetition\n`,
    table([['', 'calls/s ratio', 'CPU per call ratio', 'calls/s (context)'], ...rows]),
    `${count} callers with an account each: ${heapKilobytes.toFixed(1)} kB of heap and `,
    `${rssKilobytes.toFixed(1)} kB of resident memory per connection, `,
    `${sockets} sockets after the last call, ${idleSockets} when idle\n`,
  ].join('');
}

async function measureRates(
  server: Server,
  folder: string,
  { reps, calls }: { readonly reps: number; readonly calls: number },
) {
  const names = Object.fromEntries(CREDENTIALS.map((name) => [name, { type: 'http', url: urlOf(server, name) }]));
  await storeGrants(folder, [
    grantFor(urlOf(server, 'bearer'), SHARED_PRINCIPAL),
    { ...grantFor(urlOf(server, 'dpop'), SHARED_PRINCIPAL), tokenType: 'DPoP', dpopKey: generateDpopKey() },
  ]);
  const heddle = await openWith(folder, names);
  try {
    for (const name of CREDENTIALS) await runCalls(heddle, name, calls); // Warms up.
    const measured: Record<Credentials, Usage[]> = { none: [], bearer: [], dpop: [] };
    for (let rep = 1; rep <= reps; rep++) {
      const all = await interleaved(heddle, calls);
      for (const name of CREDENTIALS) measured[name].push(all[name]);
      process.stderr.write(
        `credentials ${rep}/${reps}: ${CREDENTIALS.map((name) => all[name].wallMs.toFixed(0))} ms\n`,
      );
    }
    const column = (name: Credentials, key: keyof Usage) => measured[name].map((one) => one[key]);
    return CREDENTIALS.map((name) => ({
      name,
      // Fewer milliseconds are more calls per second.
      callsPerSecond: ratioOf(column('none', 'wallMs'), column(name, 'wallMs')),
      cpu: ratioOf(column(name, 'cpuMs'), column('none', 'cpuMs')),
      median: calls / (median(column(name, 'wallMs')) / 1000),
    }));
  } finally {
    await heddle.close();
  }
}

interface Usage {
  readonly wallMs: number;
  /** CPU time of this process, the echo server included. */
  readonly cpuMs: number;
}

/** Makes the calls of all candidates in turns of 100, so that a busy moment of the machine hits all of them. */
async function interleaved(heddle: Heddle, calls: number): Promise<Record<Credentials, Usage>> {
  const total = { none: NOTHING, bearer: NOTHING, dpop: NOTHING };
  for (let turn = 0; turn * TURN < calls; turn++) {
    for (let at = 0; at < CREDENTIALS.length; at++) {
      const name = CREDENTIALS[(at + turn) % CREDENTIALS.length] ?? 'none';
      const { wallMs, cpuMs } = await runCalls(heddle, name, TURN);
      total[name] = { wallMs: total[name].wallMs + wallMs, cpuMs: total[name].cpuMs + cpuMs };
    }
  }
  return total;
}

async function runCalls(heddle: Heddle, server: string, calls: number): Promise<Usage> {
  const [startedAt, before] = [performance.now(), process.cpuUsage()];
  let left = calls;
  const work = async () => {
    while (left-- > 0) await callEcho(heddle, server, OWNER);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  const { user, system } = process.cpuUsage(before);
  return { wallMs: performance.now() - startedAt, cpuMs: (user + system) / 1000 };
}

/** Measures processes of their own, so that neither the server nor earlier calls count. */
export async function measureCallers(server: Server, folder: string): Promise<CredentialsResult['callers']> {
  const url = urlOf(server, 'mine');
  await storeGrants(
    folder,
    Array.from({ length: CALLERS }, (_, at) => grantFor(url, callerAt(at).id)),
  );
  const measured: MeasuredCallers[] = [];
  for (let rep = 1; rep <= MEMORY_REPS; rep++) measured.push(await measureProcess(server, folder));
  const medianOf = (key: keyof MeasuredCallers) => median(measured.map((one) => one[key]));
  return {
    count: CALLERS,
    ...{ heapKilobytes: medianOf('heapKilobytes'), rssKilobytes: medianOf('rssKilobytes') },
    ...{ sockets: medianOf('sockets'), idleSockets: Math.max(...measured.map(({ idleSockets }) => idleSockets)) },
  };
}

type MeasuredCallers = Omit<CredentialsResult['callers'], 'count'>;

/** Starts `callers-memory.ts`, which prints its memory and stays until its input ends. */
async function measureProcess(server: Server, folder: string): Promise<MeasuredCallers> {
  const script = join(import.meta.dirname, 'callers-memory.ts');
  const child = spawn(process.execPath, ['--expose-gc', script, urlOf(server, 'mine'), folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([once(lines, 'line'), ended.then(() => [])]);
  if (typeof line[0] !== 'string') throw new Error('The measured process ended early.');
  const sockets = await connectionsOf(server);
  await new Promise((resolve) => setTimeout(resolve, 6000)); // Longer than sockets are kept alive.
  const idleSockets = await connectionsOf(server);
  child.stdin.end();
  await ended;
  return { ...(JSON.parse(line[0]) as Pick<MeasuredCallers, 'heapKilobytes' | 'rssKilobytes'>), sockets, idleSockets };
}

/** Returns one of the callers, each with an account of its own. */
export const callerAt = (at: number): Caller => ({ id: `key:${at}`, roles: ['user'], via: 'gateway' });

export async function callEcho(heddle: Heddle, server: string, caller: Caller): Promise<void> {
  const call: Call = {
    ...{
      id: crypto.randomUUID(),
      kind: 'tool',
      name: `mcp__${server}__echo`,
      input: {},
      meta: {},
      options: {},
      caller,
    },
    signal: new AbortController().signal,
  };
  const result = await heddle.dispatch(call);
  if (result.kind !== 'complete' || result.isError) throw new Error(`${server}: ${JSON.stringify(result)}`);
}

function grantFor(serverUrl: string, principal: string): Grant {
  return {
    ...{ issuer: 'https://issuer.example', resource: serverUrl, serverUrl, principal, scopes: [], clientId: 'bench' },
    ...{
      accessToken: `token-${principal}`,
      tokenType: 'Bearer',
      receivedAt: Date.now(),
      expiresAt: Date.now() + YEAR_MS,
    },
  };
}

async function storeGrants(home: string, grants: readonly Grant[]): Promise<void> {
  const store = await openStore({ location: join(home, 'heddle.sqlite'), home, env: ENV });
  for (const grant of grants) await store.vault.put(grant, 1);
  await store.close();
}

export const openWith = (home: string, mcpServers: JsonObject): Promise<Heddle> =>
  openHeddle({ config: { mcpServers }, env: { ...ENV, HEDDLE_HOME: home }, cwd: home });

const urlOf = (server: Server, path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`;

const connectionsOf = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))));

const TOOLS = [{ name: 'echo', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }];
const CACHING = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
const RESULTS: Readonly<Record<string, JsonObject>> = {
  'server/discover': { ...CACHING, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
  'tools/list': { ...CACHING, tools: TOOLS },
  'tools/call': { resultType: 'complete', content: [{ type: 'text', text: 'echo' }] },
};

/** Starts a modern server that accepts every request whose path is not protected, or that has a token. */
export async function openEcho(): Promise<Server> {
  const server = createServer(async (request, response) => {
    const { id, method } = (await json(request)) as { id?: number; method: string };
    const isAllowed = request.url === '/none' || request.headers.authorization !== undefined;
    const result = RESULTS[method];
    const body = result ? { result } : { error: { code: -32601, message: 'unknown' } };
    response.writeHead(isAllowed ? 200 : 401, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return server;
}
