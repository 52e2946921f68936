import { existsSync } from 'node:fs';
import { UpstreamError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { findProgram } from '../../process/find-program.ts';
import { entering } from '../../process/pid-namespace.ts';
import { type ProcessGroup, type Program, startGroup } from '../../process/process-group.ts';
import type { Watchdog } from '../../process/watchdog.ts';
import type { Message } from '../../wire/json-rpc.ts';
import { lineFramer } from '../../wire/line-framer.ts';
import type { Transport } from '../../wire/transport.ts';
import { answeredId, MAX_MESSAGE_BYTES, tooLarge, unreadable } from './bad-message.ts';
import { type StderrTail, stderrTail } from './stderr-tail.ts';

export interface StdioTransportOptions extends Omit<Program, 'mark' | 'enter'> {
  readonly server: string;
  readonly watchdog: Watchdog;
  /** A longer line is refused; the call it answers fails at once. */
  readonly maxLineBytes?: number | undefined;
  /** Largest queue for a child that does not read its stdin; 64 Mi characters by default. */
  readonly maxQueuedChars?: number;
  readonly stderrBytes?: number;
  /** Called for a fault that leaves the connection open. */
  readonly onTrouble?: ((reason: string) => void) | undefined;
}

const MIB = 1024 * 1024;
const DRAIN_MS = 50;
const STRAY_CHARS = 600;
const SENT = Promise.resolve();

/** A child process as a transport: one message per line, written once per turn of the event loop. */
export class StdioClientTransport implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onlost: Transport['onlost'];
  readonly counts = { garbage: 0, oversized: 0 };
  /** The lines of stdout that are no JSON-RPC messages, and the beginning of the first. */
  readonly stray = { lines: 0, first: '' };
  readonly #options: StdioTransportOptions;
  readonly #stderrTail: StderrTail;
  #group: ProcessGroup | undefined;
  #outgoing = '';
  #scheduled = false;
  #blocked = false;
  #closing: Promise<void> | undefined;
  #down = true;
  /** True when the request of the incoming overlong line has already failed. */
  #refused = false;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    this.#stderrTail = stderrTail(options.stderrBytes ?? 64 * 1024);
  }

  async start(): Promise<void> {
    const { watchdog, env } = this.#options;
    const [command, namespace] = await Promise.all([fileOf(this.#options), watchdog.enclosure()]);
    if (this.#closing) throw unreachable(this.#options.server, 'it was closed before it had started');
    const enter = entering(namespace, env);
    const group = startGroup({ ...this.#options, command, mark: watchdog.mark(), enter });
    await spawned(group, this.#options);
    const pid = group.child.pid as number;
    watchdog.watch(pid);
    this.#group = group;
    this.#down = false;
    this.#listen(group);
    // Output that the child wrote before its end is still in the pipe. A surviving grandchild may keep the pipe open.
    const drained = new Promise((resolve) => group.child.once('close', resolve));
    group.exited.then(() => Promise.race([drained, after(DRAIN_MS)])).then(() => this.#drop());
    if (this.#closing) await group.end();
  }

  send(message: Message): Promise<void> {
    try {
      this.#queue(message);
      return SENT;
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  #queue(message: Message): void {
    const { server, maxQueuedChars = 64 * MIB } = this.#options;
    if (this.#down || this.#closing) throw unreachable(server, 'its process has ended');
    if (this.#outgoing.length > maxQueuedChars) throw unreachable(server, 'it does not read its stdin');
    this.#outgoing += `${JSON.stringify(message)}\n`;
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  close(): Promise<void> {
    if (this.#group && !this.#down) {
      this.#flush();
      this.#closing ??= this.#group.end().then(() => this.#drop());
    }
    this.#closing ??= Promise.resolve(); // The process has ended, and its id may be reused.
    return this.#closing;
  }

  /** Returns the end of the child's stderr. */
  stderr(): string {
    return this.#stderrTail.text();
  }

  /** Describes how the child ended; undefined while it runs. */
  ending(): string | undefined {
    const ending = this.#group?.ending();
    if (!ending) return undefined;
    return 'signal' in ending ? `it was ended by ${ending.signal}` : `it exited with code ${ending.code}`;
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#blocked || this.#down || this.#outgoing === '') return;
    const batch = this.#outgoing;
    this.#outgoing = '';
    this.#blocked = this.#group?.child.stdin.write(batch) === false;
  }

  #listen({ child }: ProcessGroup): void {
    const { maxLineBytes = MAX_MESSAGE_BYTES } = this.#options;
    const push = lineFramer({
      maxLineBytes,
      onLine: (line) => this.#read(line),
      onTooLong: (head) => this.#refuse(maxLineBytes, head),
      onOversized: (bytes, [head, tail]) => {
        if (!this.#refused) this.#fail(answeredId(head, tail), tooLarge(this.#options.server, maxLineBytes, bytes));
      },
    });
    child.stdout.on('data', push);
    child.stderr.on('data', this.#stderrTail.add);
    child.stdin.on('drain', () => {
      this.#blocked = false;
      this.#flush();
    });
    // EPIPE arrives here as an event. Without a listener it would end Heddle. The exit is handled above.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {});
  }

  #read(line: string): void {
    let message: unknown;
    try {
      message = parseJson(line, { keys: 'any', maxChars: Infinity, numbers: 'exact' });
    } catch (thrown) {
      this.counts.garbage++;
      this.#noteStray(line);
      this.#fail(answeredId(line), unreadable(this.#options.server, thrown));
      return;
    }
    if (isObject(message) ? message.jsonrpc === undefined : !Array.isArray(message)) this.#noteStray(line);
    if (isObject(message) || Array.isArray(message)) this.onmessage?.(message as Message);
    else this.counts.garbage++;
  }

  #noteStray(line: string): void {
    if (line.trim() === '') return;
    // A slice would keep the whole line in memory.
    if (this.stray.lines++ === 0) this.stray.first = Buffer.from(line.slice(0, STRAY_CHARS)).toString();
  }

  #refuse(limit: number, head: string): void {
    this.counts.oversized++;
    const error = tooLarge(this.#options.server, limit);
    this.onerror?.(error);
    this.#options.onTrouble?.(error.message);
    this.#refused = this.#fail(answeredId(head, ''), error);
  }

  /** Fails the request of an unusable response, if its id is known. */
  #fail(id: number | undefined, error: Error): boolean {
    if (id !== undefined) this.onlost?.(id, error);
    return id !== undefined;
  }

  #drop(): void {
    if (this.#down) return;
    this.#down = true;
    this.#outgoing = '';
    if (this.#group?.child.pid) this.#options.watchdog.forget(this.#group.child.pid);
    this.onclose?.();
  }
}

/** Finds the program before the start. In a namespace, `unshare` would fail without a clear message. */
async function fileOf({ server, command, cwd, env }: StdioTransportOptions): Promise<string> {
  const found = await findProgram(command, { path: env.PATH, cwd });
  if ('file' in found) return found.file;
  if ('forbidden' in found) throw notExecutable(server, found.forbidden);
  throw folderMissing(server, cwd) ?? notStarted(server, `its command \`${command}\` does not exist`);
}

function spawned({ child }: ProcessGroup, { server, command, cwd }: StdioTransportOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) =>
      reject(folderMissing(server, cwd) ?? notStarted(server, `\`${command}\` could not be started`, cause)),
    );
  });
}

const notStarted = (server: string, reason: string, cause?: unknown) =>
  unreachable(server, reason, { cause, fix: `Correct \`command\` of ${server}, or install that program.` });

const notExecutable = (server: string, file: string) =>
  unreachable(server, `${file} is not executable`, { fix: NOT_EXECUTABLE_FIX });

/** The fix for a file that exists and cannot be run. */
export const NOT_EXECUTABLE_FIX =
  'Correct `command` of the server: give the full path of a program; a script of your own needs `chmod +x`.';

/** Returns the error of a `cwd` that does not exist; undefined for any other. */
function folderMissing(server: string, cwd: string | undefined): UpstreamError | undefined {
  if (cwd === undefined || existsSync(cwd)) return undefined;
  const fix = `Correct \`cwd\` of ${server}, or create that folder.`;
  return unreachable(server, `its folder ${cwd} does not exist`, { fix });
}

const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const unreachable = (server: string, reason: string, options: { cause?: unknown; fix?: string } = {}) =>
  new UpstreamError('UPSTREAM_UNREACHABLE', `${server} cannot be reached: ${reason}.`, {
    delivered: 'no',
    fix: `Run \`heddle doctor ${server}\` to see why.`,
    ...options,
  });
