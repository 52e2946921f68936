import type { ServerResponse } from 'node:http';
import type { Message } from '../../wire/json-rpc.ts';
import { KEEP_ALIVE_COMMENT } from '../response-writer.ts';
import type { CountUnsent } from './client-transport.ts';
import { GatewayTransport } from './gateway-transport.ts';

const KEEP_ALIVE_MS = 25_000;

/** The gateway's transport to an HTTP+SSE client: messages go out on one event stream and come in as POST requests. */
export class SseServerTransport extends GatewayTransport {
  readonly countUnsent: CountUnsent;
  readonly #response: ServerResponse;
  readonly #endpoint: string;

  /** `endpoint` is the URL path to which the client posts its messages. */
  constructor(response: ServerResponse, endpoint: string, countUnsent: CountUnsent) {
    super();
    this.countUnsent = countUnsent;
    this.#response = response;
    this.#endpoint = endpoint;
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
    this.throwIfClosed();
    this.#write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  protected disconnect(): void {
    this.#response.end();
  }

  #write(text: string): void {
    if (!this.#response.writableEnded) this.#response.write(text);
  }
}
