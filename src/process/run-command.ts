import type { Ending } from './process-group.ts';
import type { Watchdog } from './watchdog.ts';

export interface CommandToRun {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The text that it can read from stdin. */
  readonly input?: string;
  readonly timeoutMs: number;
  /** The limit of what it may print to stdout, in bytes. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** The end of a command. Its process group has ended, too. */
export type CommandResult =
  | { readonly kind: 'ended'; readonly stdout: string }
  | {
      readonly kind: 'failed';
      readonly reason: string;
      /** The last 2 KB that it printed to stderr. */
      readonly stderr: string;
    };

const MAX_STDERR_BYTES = 2048;

/** Runs a command to its end, within limits of time and output. The stderr of one that succeeds is discarded. */
export async function runCommand(request: CommandToRun, watchdog: Watchdog): Promise<CommandResult> {
  const { startGroup } = await import('./process-group.ts');
  const { command, args, env, cwd, input, timeoutMs, maxBytes, signal } = request;
  if (signal.aborted) return { kind: 'failed', reason: 'was cancelled', stderr: '' };
  const mark = watchdog.mark();
  const group = startGroup({ command, args, env, cwd, mark });
  const { child } = group;
  if (child.pid !== undefined) watchdog.watch(child.pid);
  const failure = Promise.withResolvers<string>();
  const timer = setTimeout(() => failure.resolve(`did not end within ${timeoutMs} ms`), timeoutMs);
  const cancel = () => failure.resolve('was cancelled');
  signal.addEventListener('abort', cancel, { once: true });
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.on('error', (error: NodeJS.ErrnoException) => failure.resolve(`cannot be started (${error.code})`));
  child.stdin.on('error', () => {}).end(input); // It may end without reading its input.
  let printed = Buffer.alloc(0);
  child.stderr.on('data', (chunk: Buffer) => {
    // A copy: a part of a buffer would keep all of it in memory.
    printed = Buffer.from(Buffer.concat([printed, chunk]).subarray(-MAX_STDERR_BYTES));
  });
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) failure.resolve(`printed more than ${maxBytes} bytes`);
    else chunks.push(chunk);
  });
  // A descendant that outlives the command is killed with its group, which ends the pipe.
  const closed = new Promise<undefined>((done) => child.once('close', () => done(undefined)));
  try {
    const reason = (await Promise.race([failure.promise, closed])) ?? failureOf(group.ending());
    if (reason !== undefined) return { kind: 'failed', reason, stderr: printed.toString('utf8') };
    return { kind: 'ended', stdout: Buffer.concat(chunks).toString('utf8') };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
    await group.end();
    if (child.pid !== undefined) watchdog.forget(child.pid);
  }
}

function failureOf(ending: Ending | undefined): string | undefined {
  if (ending && 'signal' in ending) return `ended by ${ending.signal}`;
  return ending && ending.code !== 0 ? `ended with exit code ${ending.code}` : undefined;
}
