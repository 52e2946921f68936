import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect } from 'vitest';
import { probePidNamespace } from '../../src/process/pid-namespace.ts';
import { alive, carriersOf, hostPids, runningWith, watchdogsOf } from '../alive.ts';
import { within } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';

const HEDDLE = fileURLToPath(new URL('../../bin/heddle', import.meta.url));
const SERVER = fileURLToPath(new URL('../servers/odd-stdio-server.mjs', import.meta.url));
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Place {
  readonly folder: string;
  run(...args: string[]): ChildProcess;
}

/** An empty home and project. Its server ignores signals and has two such children, one in a session of its own. */
async function stubbornPlace(...ways: string[]): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const config = join(folder, 'heddle.json');
  const stubborn = { command: process.execPath, args: [SERVER, 'stubborn', ...ways], env: { TEST_PLACE: folder } };
  await writeFile(config, JSON.stringify({ mode: 'open', mcpServers: { odd: stubborn } }));
  const env = { PATH: process.env.PATH, HOME: folder, HEDDLE_HOME: join(folder, 'home') };
  return {
    folder,
    run(command, ...args) {
      const all = [HEDDLE, command as string, '--config', config, '--json', ...args];
      const stdio: StdioOptions = ['ignore', 'pipe', 'inherit'];
      const child = spawn(process.execPath, all, { cwd: folder, env, stdio, detached: true });
      closers.push(() => child.kill('SIGKILL'));
      return child;
    },
  };
}

async function outputOf(child: ChildProcess): Promise<string> {
  const chunks = (await child.stdout?.toArray()) as Buffer[];
  return Buffer.concat(chunks).toString();
}

/** Parses the JSON in the text result of a tool. */
const saidIn = (result: unknown): unknown =>
  JSON.parse((result as { content: { text: string }[] }).content[0]?.text ?? '');

interface Gateway {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly call: (tool: string) => Promise<unknown>;
}

async function up(place: Place): Promise<Gateway> {
  const child = place.run('up', '--port', '0');
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  const { url, token, pid } = JSON.parse(line) as { url: string; token: string; pid: number };
  const call = async (tool: string) => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const name = `mcp__odd__${tool}`;
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {}, _meta } }),
    });
    return saidIn(((await answer.json()) as { result: unknown }).result);
  };
  return { child, pid, call };
}

/** Starts the server and its children and returns the mark in their environment. */
async function familyOf({ call }: Gateway) {
  const own = (await call('family')) as number[];
  const { HEDDLE_LINE: mark = '' } = (await call('environment')) as { HEDDLE_LINE?: string };
  const pids = hostPids(own, `HEDDLE_LINE=${mark}`);
  expect(pids.map(alive)).toEqual(own.map(() => true));
  await until('a watchdog runs', () => watchdogsOf(mark).length === 1);
  return { pids, mark };
}

const left = (place: Place, mark: string) => [...carriersOf(`TEST_PLACE=${place.folder}`), ...watchdogsOf(mark)];

verifies('T4', 'leaves no process of a server that ignores signals after `heddle call`', async () => {
  const place = await stubbornPlace();
  const child = place.run('call', 'odd.family');
  const exited = once(child, 'exit');
  const pids = saidIn(JSON.parse(await outputOf(child))) as number[];
  expect(await exited).toEqual([0, null]);
  expect(pids).toHaveLength(3);
  await until('the kernel has removed them', () => carriersOf(`TEST_PLACE=${place.folder}`).length === 0);
});

for (const whom of ['the gateway', 'its whole process group']) {
  verifies('T4', `leaves no process after SIGKILL to ${whom}`, async () => {
    const place = await stubbornPlace();
    const gateway = await up(place);
    const { pids, mark } = await familyOf(gateway);
    expect(gateway.pid).toBe(gateway.child.pid);
    process.kill(whom === 'the gateway' ? gateway.pid : -gateway.pid, 'SIGKILL');
    await until('server and children are gone', () => !pids.some(alive));
    await until('the watchdog is gone too', () => left(place, mark).length === 0);
  });
}

if ('enter' in (await probePidNamespace())) {
  verifies('T4', 'leaves no daemon without the marked environment after the gateway is killed', async () => {
    const place = await stubbornPlace('escaping');
    const { pid, call } = await up(place);
    await call('family');
    const daemons = () => runningWith(`daemon of ${place.folder}`);
    await until('the daemon runs', () => daemons().length > 0);
    process.kill(pid, 'SIGKILL');
    await until('the daemon is gone', () => daemons().length === 0);
  });
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  verifies('L6', `ends the gateway on ${signal} and leaves no process`, async () => {
    const place = await stubbornPlace();
    const gateway = await up(place);
    const { mark } = await familyOf(gateway);
    await within(1000, async () => {
      process.kill(-gateway.pid, signal); // Like a terminal: to the whole process group.
      await once(gateway.child, 'exit');
    });
    await until('nothing is left', () => left(place, mark).length === 0);
  });
}
