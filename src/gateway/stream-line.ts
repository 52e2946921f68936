import type { Readable, Writable } from 'node:stream';
import { isObject, parseJson } from '../core/json.ts';
import { INVALID_REQUEST, type Line, type Message, PARSE_ERROR } from '../wire/json-rpc.ts';
import { lineFramer } from '../wire/line-framer.ts';

const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** A client at the other end of two streams: one message per line of text. */
export class StreamLine implements Line {
  onmessage: Line['onmessage'];
  onclose: Line['onclose'];
  onerror: Line['onerror'];
  readonly #input: Readable;
  readonly #output: Writable;
  #closed = false;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
  }

  async start(): Promise<void> {
    const push = lineFramer({
      maxLineBytes: MAX_LINE_BYTES,
      onLine: (line) => this.#read(line),
      onOversized: (bytes) => this.#refuse(INVALID_REQUEST, `A message of ${bytes} bytes is too long.`),
    });
    this.#input.on('data', (chunk: Buffer) => push(chunk));
    for (const event of ['end', 'error', 'close']) this.#input.once(event, () => void this.close());
    this.#output.once('error', () => void this.close());
  }

  async send(message: Message): Promise<void> {
    if (this.#closed) throw new Error('The client has left.');
    this.#output.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#input.pause();
    this.onclose?.();
  }

  #read(line: string): void {
    try {
      const message = parseJson(line);
      if (isObject(message)) this.onmessage?.(message);
      else this.#refuse(INVALID_REQUEST, 'Each line has to be one JSON-RPC message.');
    } catch {
      this.#refuse(PARSE_ERROR, 'The line is not acceptable JSON.');
    }
  }

  #refuse(code: number, message: string): void {
    this.send({ jsonrpc: '2.0', id: null, error: { code, message } }).catch(() => {});
  }
}
