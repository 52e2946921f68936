import { existsSync } from 'node:fs';
import { UpstreamError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { findProgram } from '../../process/find-program.ts';
import { entering } from '../../process/pid-namespace.ts';
import { type ProcessGroup, type Program, startGroup } from '../../process/process-group.ts';
import type { Watchdog } from '../../process/watchdog.ts';
import type { Message, Transport } from '../../wire/json-rpc.ts';
import { lineFramer } from '../../wire/line-framer.ts';
import { answeredId, MAX_MESSAGE_BYTES, tooLarge, unreadable } from './bad-message.ts';
import { type StderrTail, stderrTail } from './stderr-tail.ts';

export interface StdioTransportOptions extends Omit<Program, 'mark' | 'enter'> {
  readonly server: string;
  readonly watchdog: Watchdog;
  /** A longer line is refused; the call it answers fails at once. */
  readonly maxLineBytes?: number | undefined;
  /** How much may wait for a child that does not read. */
  readonly maxQueuedChars?: number;
  readonly stderrBytes?: number;
  /** Told what a server does that one in good health does not. */
  readonly onTrouble?: ((reason: string) => void) | undefined;
}

const MIB = 1024 * 1024;
const DRAIN_MS = 50;
const SENT = Promise.resolve();

/** A child process as an MCP line: one message per line of text, written once per turn of the event loop. */
export class StdioClientTransport implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onlost: Transport['onlost'];
  readonly counts = { garbage: 0, oversized: 0 };
  readonly #options: StdioTransportOptions;
  readonly #lastWords: StderrTail;
  #group: ProcessGroup | undefined;
  #outgoing = '';
  #scheduled = false;
  #blocked = false;
  #closing: Promise<void> | undefined;
  #down = true;
  /** Whether whoever waits for the overlong line that is coming in knows already. */
  #refused = false;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    this.#lastWords = stderrTail(options.stderrBytes ?? 64 * 1024);
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
    // What the child wrote before it died is still in the pipe; a survivor holding that pipe must not keep us.
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
    if (this.#outgoing.length > maxQueuedChars) throw unreachable(server, 'it does not read what it is sent');
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
    this.#closing ??= Promise.resolve(); // Its process id may be somebody else's by now.
    return this.#closing;
  }

  /** The last words of the child on stderr. */
  stderr(): string {
    return this.#lastWords.text();
  }

  /** How the child ended, in words; undefined while it runs. */
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
    child.stderr.on('data', this.#lastWords.hear);
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
      message = parseJson(line, { keys: 'any', maxChars: Infinity, numbers: 'exact' });
    } catch (thrown) {
      this.counts.garbage++;
      this.#fail(answeredId(line), unreadable(this.#options.server, thrown));
      return;
    }
    if (isObject(message) || Array.isArray(message)) this.onmessage?.(message as Message);
    else this.counts.garbage++;
  }

  #refuse(limit: number, head: string): void {
    this.counts.oversized++;
    const error = tooLarge(this.#options.server, limit);
    this.onerror?.(error);
    this.#options.onTrouble?.(error.message);
    this.#refused = this.#fail(answeredId(head, ''), error);
  }

  /** Fails the request that an unusable message answers, if the message says which. */
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

/** Looked for before it is started: what starts it in a namespace could not say in our words that it is not there. */
async function fileOf({ server, command, cwd, env }: StdioTransportOptions): Promise<string> {
  const found = await findProgram(command, { path: env.PATH, cwd });
  if ('file' in found) return found.file;
  const folderless = cwd !== undefined && !existsSync(cwd);
  const missing = folderless ? `its folder ${cwd} does not exist` : `its command \`${command}\` does not exist`;
  const why = 'forbidden' in found ? `${found.forbidden} is no program that may be run` : missing;
  throw unreachable(server, why, { fix: `Correct \`command\` of ${server}, or install that program.` });
}

function spawned({ child }: ProcessGroup, { server, command, cwd }: StdioTransportOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) => {
      const folderless = cwd !== undefined && !existsSync(cwd);
      const why = folderless ? `its folder ${cwd} does not exist` : `\`${command}\` could not be started`;
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
