import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished, vi } from 'vitest';

const BIN = join(import.meta.dirname, '..', '..', '..', 'bin', 'heddle');

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Working folder. Default: `project`. */
  readonly cwd?: string;
}

export interface Desk {
  path(name: string): string;
  read(name: string): Promise<string>;
  /** Runs a command in this process, one at a time. */
  heddle(words: readonly string[], options?: RunOptions): Promise<Ran>;
  /** Runs a command as a child process with this stdin. */
  spawned(words: readonly string[], stdin: string, env?: NodeJS.ProcessEnv): Promise<Ran>;
}

/** Creates a temporary folder with a project in `project/` and Heddle's folder in `home/`, and runs commands there. */
export async function deskWith(files: Readonly<Record<string, string | object>> = {}): Promise<Desk> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-cli-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  for (const name of ['project/.git', 'home', 'user', 'plain']) await mkdir(path(name), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(path(name)), { recursive: true });
    await writeFile(path(name), typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`);
  }
  const own = { HOME: path('user'), HEDDLE_HOME: path('home'), NO_COLOR: '1' };
  return {
    path,
    read: (name) => readFile(path(name), 'utf8'),
    heddle: (words, { env = {}, cwd = 'project' } = {}) => inside(words, { env: { ...own, ...env }, cwd: path(cwd) }),
    async spawned(words, stdin, env = {}) {
      const child = spawn(process.execPath, [BIN, ...words], {
        cwd: path('project'),
        env: { PATH: process.env.PATH, ...own, ...env },
      });
      child.stdin.end(stdin);
      const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
      return { code, stdout, stderr };
    },
  };
}

async function inside(words: readonly string[], { env, cwd }: Required<RunOptions>): Promise<Ran> {
  const before = { cwd: process.cwd(), env: { ...process.env } };
  const output = { stdout: '', stderr: '' };
  const outputs = [process.stdout, process.stderr].map((stream) => ({ stream, known: stream.listeners('error') }));
  const streams = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
      output[name] += chunk;
      return true;
    }),
  );
  try {
    process.chdir(cwd);
    Object.assign(process.env, env);
    const { main } = await import('../main.ts');
    await main(words);
    return { code: Number(process.exitCode), ...output };
  } finally {
    for (const stream of streams) stream.mockRestore();
    process.exitCode = undefined;
    // `main` adds listeners for the life of a process; this process runs more commands.
    for (const { stream, known } of outputs) {
      const added = stream.listeners('error').filter((listener) => !known.includes(listener));
      for (const listener of added) stream.removeListener('error', listener as () => void);
    }
    process.chdir(before.cwd);
    // Not by assignment of the whole: `homedir` reads the variables of the process.
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before.env);
  }
}
