import type { Readable, Writable } from 'node:stream';
import type { Message } from '../../wire/json-rpc.ts';
import { lineFramer } from '../../wire/line-framer.ts';
import { INVALID_REQUEST } from '../../wire/mcp.ts';
import { encodeLong, UnsentBytes, type UnsentOptions } from '../unsent-bytes.ts';
import { PAUSE_BYTES, receiveText, sendError } from './client-transport.ts';
import { GatewayTransport } from './gateway-transport.ts';

const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** The gateway's transport to a client on two streams: one message per line of text. */
export class StdioServerTransport extends GatewayTransport {
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #unsent: UnsentBytes;

  constructor(input: Readable, output: Writable, options: Omit<UnsentOptions, 'close'> = {}) {
    super();
    this.#unsent = new UnsentBytes({ ...options, close: () => void this.close() });
    this.#input = input;
    this.#output = output;
  }

  async start(): Promise<void> {
    const push = lineFramer({
      maxLineBytes: MAX_LINE_BYTES,
      onLine: (line) => receiveText(line, this),
      onOversized: (bytes) => sendError(this, INVALID_REQUEST, `A message of ${bytes} bytes is too long.`),
    });
    this.#input.on('data', (chunk: Buffer) => push(chunk));
    this.#input.once('end', this.end);
    if (this.#input.readableEnded) this.end();
    this.#input.once('error', () => void this.close());
    // After `end` the output stays open for pending responses. A `close` without `end` means the client is gone.
    this.#input.once('close', () => this.#input.readableEnded || void this.close());
    for (const event of ['error', 'close']) this.#output.once(event, () => void this.close());
  }

  async send(message: Message): Promise<void> {
    this.throwIfClosed();
    const output = this.#output;
    output.write(encodeLong(`${JSON.stringify(message)}\n`));
    if (output.writableLength > PAUSE_BYTES) this.#pauseUntilDrained();
    if (output.writableLength > 0) this.countUnsent();
  }

  readonly countUnsent = (held = 0): void => {
    if (!this.isClosed) this.#unsent.count(this.#output, 'stdio', held);
  };

  protected disconnect(): void {
    this.#unsent.close();
    this.#input.pause();
  }

  #pauseUntilDrained(): void {
    if (this.#input.isPaused()) return;
    this.#input.pause();
    this.#output.once('drain', () => this.isClosed || this.#input.resume());
  }
}
