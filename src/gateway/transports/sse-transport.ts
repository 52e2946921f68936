import type { ServerResponse } from 'node:http';
import type { Message, Transport } from '../../wire/json-rpc.ts';
import { KEEP_ALIVE_COMMENT } from '../response-writer.ts';
import { type ClientTransport, MAX_UNREAD_BYTES } from './client-transport.ts';

const KEEP_ALIVE_MS = 25_000;

/** A client that hears on one long event stream, and posts what it says. */
export class SseServerTransport implements ClientTransport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onbatch: ClientTransport['onbatch'];
  acceptsBatches = false;
  readonly ended: Promise<void>;
  readonly #response: ServerResponse;
  readonly #endpoint: string;
  readonly #end: () => void;
  #closed = false;

  /** `endpoint` is where the client has to post. */
  constructor(response: ServerResponse, endpoint: string) {
    this.#response = response;
    this.#endpoint = endpoint;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
  }

  async start(): Promise<void> {
    const response = this.#response;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.write(`event: endpoint\ndata: ${this.#endpoint}\n\n`);
    const timer = setInterval(() => this.#write(KEEP_ALIVE_COMMENT), KEEP_ALIVE_MS).unref();
    response.once('close', () => {
      clearInterval(timer);
      void this.close();
    });
  }

  async send(message: Message): Promise<void> {
    if (this.#closed) throw new Error('The client has left.');
    this.#write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#response.end();
    this.#end();
    this.onclose?.();
  }

  #write(text: string): void {
    const response = this.#response;
    if (response.writableEnded) return;
    response.write(text);
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
  }
}
