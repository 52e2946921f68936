import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { readConfig } from '../../src/config/read-config.ts';
import { recordTrust } from '../../src/config/sources/trust-book.ts';
import { homeFolder } from '../../src/files/home-folder.ts';
import { until } from '../until.ts';
import { runInProcess } from './run-in-process.ts';

export const ROOT = join(import.meta.dirname, '..', '..');
export const BIN = join(ROOT, 'bin', 'heddle');
/** The folder of the test servers. */
export const SERVERS = join(ROOT, 'test', 'servers');

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with the running child process. */
  readonly meanwhile?: (child: ChildProcess) => Promise<void>;
  /** True if the command has to be a child process. */
  readonly spawned?: boolean;
}

export interface RunningUp {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  readonly stderr: () => string;
  /** Sends SIGINT and resolves with the outcome. */
  stop(): Promise<number | null>;
}

/** A folder with files, and a Heddle with that folder and a home of its own. */
export interface Project {
  readonly folder: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  /** Runs a command: in this process if that makes no difference, else as a child process. */
  heddle(args: readonly string[], options?: RunOptions): Promise<Outcome>;
  /** Starts `heddle up --json` and resolves once it is ready. */
  up(args?: readonly string[], env?: Readonly<Record<string, string>>): Promise<RunningUp>;
}

export interface ProjectOptions {
  readonly trusted?: boolean;
  /** Heddle's folder of the user; that of another project to share it. */
  readonly home?: string | undefined;
}

/**
 * Creates a project from files: path → text or JSON value. It is removed with all its processes when the test ends.
 * The user trusts it, unless `trusted` is false.
 */
export function project(
  files: Readonly<Record<string, string | object>> = {},
  { trusted = true, home: shared }: ProjectOptions = {},
): Project {
  const root = mkdtempSync(join(tmpdir(), 'heddle-e2e-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, 'project');
  const home = shared ?? join(root, 'home');
  mkdirSync(folder);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content));
  }
  const env = { PATH: process.env.PATH ?? '', HOME: root, HEDDLE_HOME: home };
  const start = (args: readonly string[], extra: Readonly<Record<string, string>> = {}) =>
    spawn(process.execPath, [BIN, ...args], { cwd: folder, env: { ...env, ...extra } });
  let agreed: Promise<void> | undefined;
  const agree = () => {
    agreed ??= trusted ? trustAll(folder, env) : Promise.resolve();
    return agreed;
  };
  return {
    folder,
    home,
    env,
    async heddle(args, { stdin = '', env: extra, meanwhile, spawned } = {}) {
      await agree();
      const needsChild = spawned || stdin !== '' || meanwhile;
      const here = needsChild ? undefined : runInProcess(args, { cwd: folder, env: { ...env, ...extra } });
      if (here) return here;
      const child = start(args, extra);
      child.stdin.on('error', () => {}).end(stdin);
      const ended = once(child, 'close');
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), meanwhile?.(child)]);
      const [code] = await ended;
      return { code, stdout, stderr };
    },
    async up(args = ['--port', '0'], extra = {}) {
      await agree();
      return startUp(start(['up', ...args, '--json'], extra));
    },
  };
}

/** Trusts a project like `heddle trust --yes`, without starting a process. */
async function trustAll(cwd: string, env: Readonly<Record<string, string>>): Promise<void> {
  const { projectFolder, untrusted } = await readConfig({ cwd, env });
  if (untrusted.length === 0) return;
  const agreements = Object.fromEntries(untrusted.map(({ thing, hash }) => [thing, hash]));
  await recordTrust(homeFolder(env), projectFolder, agreements);
}

async function startUp(child: ReturnType<typeof spawn>): Promise<RunningUp> {
  const ended = once(child, 'exit');
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => (stdout += chunk));
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  const stop = async () => {
    if (child.exitCode === null) child.kill('SIGINT');
    await ended;
    return child.exitCode;
  };
  onTestFinished(async () => void (await stop()));
  await until('the gateway is ready', () => {
    if (child.exitCode !== null) throw new Error(`heddle up ended with ${child.exitCode}: ${stderr}`);
    return stdout.includes('\n');
  });
  return { ...JSON.parse(stdout), stderr: () => stderr, stop };
}
