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
  | { readonly kind: 'failed'; readonly reason: string };

/** Runs a command to its end, within limits of time and output. Its stderr is discarded. */
export async function runCommand(request: CommandToRun, watchdog: Watchdog): Promise<CommandResult> {
  const { startGroup } = await import('./process-group.ts');
  const { command, args, env, cwd, input, timeoutMs, maxBytes, signal } = request;
  if (signal.aborted) return { kind: 'failed', reason: 'was cancelled' };
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
  child.stderr.resume();
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) failure.resolve(`printed more than ${maxBytes} bytes`);
    else chunks.push(chunk);
  });
  // A descendant that outlives the command is killed with its group, which ends the pipe.
  const closed = new Promise<undefined>((done) => child.once('close', () => done(undefined)));
  try {
    const reason = await Promise.race([failure.promise, closed]);
    if (reason !== undefined) return { kind: 'failed', reason };
    const ending = group.ending();
    if (ending && 'signal' in ending) return { kind: 'failed', reason: `ended by ${ending.signal}` };
    if (ending && ending.code !== 0) return { kind: 'failed', reason: `ended with exit code ${ending.code}` };
    return { kind: 'ended', stdout: Buffer.concat(chunks).toString('utf8') };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
    await group.end();
    if (child.pid !== undefined) watchdog.forget(child.pid);
  }
}
