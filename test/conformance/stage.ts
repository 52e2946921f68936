// Starts the conformance fixture of one era and a real `heddle up` in front of it, for the suite's client.
// `node stage.ts legacy|modern http|stdio` prints the gateway's URL, and ends both when its stdin ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = join(import.meta.dirname, '..', '..');
const PROFILE = 'suite';
const [era = 'modern', transport = 'http'] = process.argv.slice(2);

const fixture = join(ROOT, 'test', 'servers', `conformance-fixture-${era}.ts`);
const folder = mkdtempSync(join(tmpdir(), 'heddle-stage-'));
const children: ChildProcess[] = [];
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
process.stdin.resume().once('end', close);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, close);

const server =
  transport === 'stdio'
    ? { command: process.execPath, args: [fixture, '--stdio'] }
    : { type: 'http', url: await firstLine([fixture]) };
const config = join(folder, 'heddle.json');
writeFileSync(
  config,
  JSON.stringify({
    // The suite cannot approve calls, so its tools are allowed. It sends more sampling requests than the default limit.
    mcpServers: { fixture: server },
    permissions: { allow: ['mcp__fixture'] },
    sampling: { maxCalls: 1000, windowMs: 60_000, maxTokens: 4096 },
    builtins: { filesystem: { enabled: false } },
    profiles: { [PROFILE]: { servers: ['fixture'], naming: 'bare', auth: 'none' } },
  }),
);
const up = ['up', '--config', config, '--profile', PROFILE, '--port', '0', '--json'];
const { url } = JSON.parse(await firstLine([join(ROOT, 'bin', 'heddle'), ...up]));
process.stdout.write(`${url}\n`);

/** Starts a Node program and returns the first line of its stdout, which it prints when it is ready. */
async function firstLine(args: readonly string[]): Promise<string> {
  const env = { ...process.env, HOME: folder, HEDDLE_HOME: join(folder, 'home') };
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => [])]);
  if (line !== undefined) return line;
  process.stderr.write(`${args.join(' ')} did not start.\n`);
  return await close();
}

async function close(): Promise<never> {
  const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  const ended = running.map((child) => once(child, 'exit'));
  for (const child of running) child.kill('SIGTERM');
  await Promise.all(ended);
  process.exit();
}
