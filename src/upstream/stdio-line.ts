import { existsSync } from 'node:fs';
import { UpstreamError } from '../core/errors.ts';
import { isObject, parseJson } from '../core/json.ts';
import { type ProcessGroup, type Program, startGroup } from '../process/process-group.ts';
import type { Watchdog } from '../process/watchdog.ts';
import { INTERNAL_ERROR, type Line, type Message } from '../wire/json-rpc.ts';
import { lineFramer } from '../wire/line-framer.ts';

export interface StdioOptions extends Omit<Program, 'mark'> {
  readonly server: string;
  readonly watchdog: Watchdog;
  /** A longer line is refused; the call it answers fails at once. */
  readonly maxLineBytes?: number;
  /** How much may wait for a child that does not read. */
  readonly maxQueuedChars?: number;
  readonly stderrBytes?: number;
}

const MIB = 1024 * 1024;
const DRAIN_MS = 50;
// A server that names the id first, or last, as the SDKs do.
const ID_AT_START = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,/;
const ID_AT_END = /,\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/** A child process as an MCP line: one message per line of text, written once per turn of the event loop. */
export class StdioLine implements Line {
  onmessage: Line['onmessage'];
  onclose: Line['onclose'];
  onerror: Line['onerror'];
  readonly counts = { garbage: 0, oversized: 0 };
  readonly #options: StdioOptions;
  #lastWords: Buffer = Buffer.alloc(0);
  #group: ProcessGroup | undefined;
  #outgoing = '';
  #scheduled = false;
  #blocked = false;
  #closing: Promise<void> | undefined;
  #down = true;

  constructor(options: StdioOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { watchdog } = this.#options;
    const group = startGroup({ ...this.#options, mark: watchdog.mark() });
    await spawned(group, this.#options);
    const pid = group.child.pid as number;
    watchdog.watch(pid);
    this.#group = group;
    this.#down = false;
    this.#listen(group);
    // What the child wrote before it died is still in the pipe; a survivor holding that pipe must not keep us.
    const drained = new Promise((resolve) => group.child.once('close', resolve));
    group.exited.then(() => Promise.race([drained, after(DRAIN_MS)])).then(() => this.#drop());
  }

  async send(message: Message): Promise<void> {
    const { server, maxQueuedChars = 64 * MIB } = this.#options;
    if (this.#down || this.#closing) throw unreachable(server, 'its process has ended');
    if (this.#outgoing.length > maxQueuedChars) throw unreachable(server, 'it does not read what it is sent');
    this.#outgoing += `${JSON.stringify(message)}\n`;
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  close(): Promise<void> {
    if (!this.#group || this.#down) return Promise.resolve(); // Its process id may be somebody else's by now.
    this.#flush();
    this.#closing ??= this.#group.end().then(() => this.#drop());
    return this.#closing;
  }

  /** The last words of the child on stderr. */
  stderr(): string {
    return this.#lastWords.toString('utf8');
  }

  /** How the child ended, in words; undefined while it runs. */
  ending(): string | undefined {
    const { exitCode = null, signalCode = null } = this.#group?.child ?? {};
    if (signalCode !== null) return `it was ended by ${signalCode}`;
    return exitCode === null ? undefined : `it exited with code ${exitCode}`;
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#blocked || this.#down || this.#outgoing === '') return;
    const batch = this.#outgoing;
    this.#outgoing = '';
    this.#blocked = this.#group?.child.stdin.write(batch) === false;
  }

  #listen({ child }: ProcessGroup): void {
    const { maxLineBytes = 16 * MIB, stderrBytes = 64 * 1024 } = this.#options;
    const push = lineFramer({
      maxLineBytes,
      onLine: (line) => this.#read(line),
      onOversized: (bytes, edges) => this.#refuse(bytes, maxLineBytes, edges),
    });
    child.stdout.on('data', push);
    child.stderr.on('data', (chunk: Buffer) => {
      this.#lastWords = Buffer.from(Buffer.concat([this.#lastWords, chunk]).subarray(-stderrBytes));
    });
    child.stdin.on('drain', () => {
      this.#blocked = false;
      this.#flush();
    });
    // EPIPE and the like arrive here as events; unheard they would end Heddle. The exit says the rest.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {});
  }

  #read(line: string): void {
    let message: unknown;
    try {
      message = parseJson(line, { keys: 'any' });
    } catch {
      this.counts.garbage++;
      return;
    }
    if (isObject(message) || Array.isArray(message)) this.onmessage?.(message as Message);
    else this.counts.garbage++;
  }

  #refuse(bytes: number, limit: number, [head, tail]: readonly [string, string]): void {
    this.counts.oversized++;
    const text = `${this.#options.server} sent ${bytes} bytes in one message; the limit is ${limit}.`;
    this.onerror?.(new Error(text));
    const id = ID_AT_START.exec(head)?.[1] ?? ID_AT_END.exec(tail)?.[1];
    if (id) this.onmessage?.({ jsonrpc: '2.0', id: Number(id), error: { code: INTERNAL_ERROR, message: text } });
  }

  #drop(): void {
    if (this.#down) return;
    this.#down = true;
    this.#outgoing = '';
    if (this.#group?.child.pid) this.#options.watchdog.forget(this.#group.child.pid);
    this.onclose?.();
  }
}

function spawned({ child }: ProcessGroup, { server, command, cwd }: StdioOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause: NodeJS.ErrnoException) => {
      const missing = cwd !== undefined && !existsSync(cwd) ? `its folder ${cwd}` : `its command \`${command}\``;
      const why = cause.code === 'ENOENT' ? `${missing} does not exist` : `\`${command}\` could not be started`;
      reject(unreachable(server, why, { cause, fix: `Correct \`command\` of ${server}, or install that program.` }));
    });
  });
}

const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const unreachable = (server: string, why: string, options: { cause?: unknown; fix?: string } = {}) =>
  new UpstreamError('UPSTREAM_UNREACHABLE', `${server} cannot be reached: ${why}.`, {
    delivered: 'no',
    fix: `Run \`heddle doctor ${server}\` to see why.`,
    ...options,
  });
