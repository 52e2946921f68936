import { createRequire, enableCompileCache, syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

let isBusy = false;

/**
 * Runs a command in this process, with folder, environment and streams of its own. It takes a fifth of the time of a child
 * process. Returns undefined while another command runs here: a process has one environment.
 */
export function runInProcess(args: readonly string[], place: Place) {
  if (isBusy) return undefined;
  isBusy = true;
  return run(args, place).finally(() => {
    isBusy = false;
  });
}

async function run(args: readonly string[], { cwd, env }: Place) {
  // Node loads the files, as for a child process: the modules of the test itself stay separate.
  enableCompileCache(join(os.tmpdir(), 'node-compile-cache'));
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const output = Promise.all([text(stdout), text(stderr)]);
  const restore = [
    swapEnvironment(env),
    swapFolder(cwd),
    ...Object.entries({ stdin: Readable.from([]), stdout, stderr }).map(([name, stream]) => swapStream(name, stream)),
    keepListeners(),
    keepPriority(),
  ];
  let code: number;
  try {
    const { main } = createRequire(import.meta.url)(MAIN) as typeof import('../../src/cli/main.ts');
    await main(args);
    code = Number(process.exitCode ?? 0);
  } finally {
    process.exitCode = undefined;
    for (const undo of restore) undo();
    stdout.end();
    stderr.end();
  }
  const [out, err] = await output;
  return { code, stdout: out, stderr: err };
}

/** Replaces the variables one by one: `homedir()` and child processes read the environment of the process itself. */
function swapEnvironment(env: Readonly<Record<string, string>>): () => void {
  const before = { ...process.env };
  const become = (next: NodeJS.ProcessEnv) => {
    for (const name of Object.keys(process.env)) if (next[name] === undefined) delete process.env[name];
    Object.assign(process.env, next);
  };
  become(env);
  return () => become(before);
}

function swapFolder(cwd: string): () => void {
  const before = process.cwd();
  process.chdir(cwd);
  return () => process.chdir(before);
}

function swapStream(name: string, stream: object): () => void {
  const before = Object.getOwnPropertyDescriptor(process, name) as PropertyDescriptor;
  Object.defineProperty(process, name, { value: stream, configurable: true });
  return () => Object.defineProperty(process, name, before);
}

/** Removes the listeners of signals that a command adds for the life of its process. */
function keepListeners(): () => void {
  const before = SIGNALS.map((name) => process.listeners(name));
  return () =>
    SIGNALS.forEach((name, index) => {
      for (const listener of process.listeners(name))
        if (!before[index]?.includes(listener)) process.removeListener(name, listener);
    });
}

/** Keeps the priority of this process, which `audit` and `policy simulate` would lower for the rest of its life. */
function keepPriority(): () => void {
  const before = os.setPriority;
  const become = (setPriority: typeof os.setPriority) => {
    os.setPriority = setPriority;
    syncBuiltinESMExports();
  };
  become(() => {});
  return () => become(before);
}
