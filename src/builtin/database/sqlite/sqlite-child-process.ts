import { getCompileCacheDir } from 'node:module';
import { fileURLToPath } from 'node:url';
import { startGroup } from '../../../process/process-group.ts';
import type { Watchdog } from '../../../process/watchdog.ts';
import type { ChildReply } from './child-messages.ts';

/** A running child. It answers one line with one line. */
export interface SqliteChild {
  isRunning(): boolean;
  /** Sends a line and returns the reply. Returns undefined if the child ends before it. */
  ask(line: string): Promise<ChildReply | undefined>;
  /** Kills it at once. */
  kill(): void;
  /** Ends an idle child. Settles when it has ended. */
  end(): Promise<void>;
  /** Settles when it has ended in any way. */
  readonly ended: Promise<void>;
}

/** From source this file ends in .ts, from the package in .js. So does the program of the child. */
const PROGRAM = fileURLToPath(import.meta.url).replace(/-process(\.[jt]s)$/, '$1');
/** Bounds the memory of the child, of which Node takes about 600 MB without using them, and prevents core files. */
const LIMITED = 'ulimit -c 0 2>/dev/null; ulimit -d 1048576 2>/dev/null; exec "$@"';
const HEAP_MB = 256;
/** A reply is at most the rows, whose size the child limits, and the names of its columns. */
const MAX_REPLY_BYTES = 64 * 1024 * 1024;

/** The folder with compiled code, which saves most of the time that a child takes to start. */
const compiledCode = process.env.NODE_COMPILE_CACHE ?? getCompileCacheDir();

/** Starts a child without the variables and flags of this process, but with its folder of compiled code. */
export function startSqliteChild(watchdog: Watchdog, cache = compiledCode): SqliteChild {
  const flags = ['--no-warnings', `--max-old-space-size=${HEAP_MB}`];
  const group = startGroup({
    command: '/bin/sh',
    args: ['-c', LIMITED, 'heddle-sqlite', process.execPath, ...flags, PROGRAM],
    env: cache ? { NODE_COMPILE_CACHE: cache } : {},
    cwd: '/',
    mark: watchdog.mark(),
  });
  const { child } = group;
  if (child.pid !== undefined) watchdog.watch(child.pid);
  let chunks: Buffer[] = [];
  let bytes = 0;
  let waiting: PromiseWithResolvers<ChildReply | undefined> | undefined;

  const settle = (reply: ChildReply | undefined) => {
    waiting?.resolve(reply);
    waiting = undefined;
  };
  const isRunning = () => child.pid !== undefined && group.ending() === undefined;
  child.stderr.resume();
  child.stdin.on('error', () => {}); // Its end is noticed by 'close'.
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_REPLY_BYTES) return void child.kill('SIGKILL');
    chunks.push(chunk);
    if (chunk.at(-1) !== NEWLINE) return;
    const text = Buffer.concat(chunks).toString('utf8');
    [chunks, bytes] = [[], 0];
    try {
      settle(JSON.parse(text) as ChildReply);
    } catch {
      child.kill('SIGKILL'); // Its state is unknown.
    }
  });
  child.on('error', () => settle(undefined));
  child.once('close', () => settle(undefined));
  const ended = group.exited.then(() => {
    if (child.pid !== undefined) watchdog.forget(child.pid);
  });

  return {
    ended,
    isRunning,
    ask(line) {
      waiting = Promise.withResolvers();
      const { promise } = waiting;
      if (!isRunning()) settle(undefined);
      else child.stdin.write(`${line}\n`);
      return promise;
    },
    kill: () => void child.kill('SIGKILL'),
    async end() {
      await group.end();
      await ended;
    },
  };
}

const NEWLINE = 10;
