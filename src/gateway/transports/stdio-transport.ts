import type { Readable, Writable } from 'node:stream';
import type { Message, Transport } from '../../wire/json-rpc.ts';
import { lineFramer } from '../../wire/line-framer.ts';
import { INVALID_REQUEST } from '../../wire/mcp.ts';
import { type ClientTransport, MAX_UNREAD_BYTES, PAUSE_BYTES, receiveText, refuse } from './client-transport.ts';

const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** A client at the other end of two streams: one message per line of text. */
export class StdioServerTransport implements ClientTransport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onbatch: ClientTransport['onbatch'];
  acceptsBatches = false;
  readonly ended: Promise<void>;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #end: () => void;
  #closed = false;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
  }

  async start(): Promise<void> {
    const push = lineFramer({
      maxLineBytes: MAX_LINE_BYTES,
      onLine: (line) => receiveText(line, this),
      onOversized: (bytes) => refuse(this, INVALID_REQUEST, `A message of ${bytes} bytes is too long.`),
    });
    this.#input.on('data', (chunk: Buffer) => push(chunk));
    this.#input.once('end', this.#end);
    if (this.#input.readableEnded) this.#end();
    this.#input.once('error', () => void this.close());
    // A stream that closes after its end has said all; one that closes before that was cut.
    this.#input.once('close', () => this.#input.readableEnded || void this.close());
    for (const event of ['error', 'close']) this.#output.once(event, () => void this.close());
  }

  async send(message: Message): Promise<void> {
    if (this.#closed) throw new Error('The client has left.');
    const output = this.#output;
    output.write(`${JSON.stringify(message)}\n`);
    if (output.writableLength > MAX_UNREAD_BYTES) await this.close();
    else if (output.writableLength > PAUSE_BYTES) this.#waitForReader();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#input.pause();
    this.#end();
    this.onclose?.();
  }

  #waitForReader(): void {
    if (this.#input.isPaused()) return;
    this.#input.pause();
    this.#output.once('drain', () => this.#closed || this.#input.resume());
  }
}
