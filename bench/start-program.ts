import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Program {
  /** The arguments of Node: flags, then the script and its arguments. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A server in its own process. */
export interface Running {
  readonly pid: number;
  readonly url: string;
  readonly token: string | undefined;
  close(): Promise<void>;
}

const READY_MS = 20_000;
const END_MS = 10_000;

/** Starts a program, and waits for the line of JSON with its URL. */
export async function startProgram({ args, cwd, env }: Program): Promise<Running> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  try {
    const { url, token, pid = child.pid as number } = await readiness(child, args.join(' '));
    return {
      pid,
      url,
      token,
      async close() {
        child.kill('SIGINT');
        const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
        await ended;
        clearTimeout(timer);
      },
    };
  } catch (thrown) {
    child.kill('SIGKILL');
    throw thrown;
  }
}

function readiness(child: ChildProcess, name: string): Promise<{ url: string; token?: string; pid?: number }> {
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    const fail = (reason: string) => reject(new Error(`${name} ${reason}. ${stderr}`));
    const timer = setTimeout(() => fail(`was not ready within ${READY_MS} ms`), READY_MS);
    child.stderr?.on('data', (chunk) => {
      stderr = (stderr + chunk).slice(-2000);
    });
    child.stdout?.on('data', (chunk) => {
      stdout += chunk;
      const end = stdout.indexOf('\n');
      if (end < 0) return;
      clearTimeout(timer);
      resolve(JSON.parse(stdout.slice(0, end)));
      stdout = '';
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      fail(`ended with code ${code} before it was ready`);
    });
  });
}
