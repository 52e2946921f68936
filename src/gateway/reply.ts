import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../core/call.ts';
import { INTERNAL_ERROR } from '../wire/json-rpc.ts';
import type { Refusal } from './check-modern.ts';
import { bytesOf } from './listing.ts';

type Headers = Readonly<Record<string, string>>;

/** What a client that does not read may make us hold before it loses notifications. */
export const MAX_HELD_BYTES = 4 * 1024 * 1024;

/**
 * The way back for one request. Starts as plain JSON, which is cheapest, and
 * becomes an event stream with the first notification that comes before the answer.
 */
export class Reply {
  readonly #response: ServerResponse;
  readonly #id: string | number | null;
  readonly #gone = new AbortController();
  #streaming = false;

  constructor(response: ServerResponse, id: string | number | null) {
    this.#response = response;
    this.#id = id;
    response.once('close', () => {
      if (!response.writableFinished) this.#gone.abort();
    });
  }

  /** Aborts when the client cancels, or leaves before it was answered. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** The client no longer wants an answer, and gets none. */
  cancel(): void {
    this.#gone.abort();
    if (this.#response.headersSent) this.#response.end();
    else this.#response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
  }

  notify(method: string, params: JsonObject): boolean {
    return this.send({ jsonrpc: '2.0', method, params });
  }

  /** Says something before the answer; false when the client is gone, or does not read. */
  send(message: JsonObject): boolean {
    return this.#write(toEvent(message));
  }

  /** Shows whatever lies between that the answer is still to come. */
  keepAlive(): void {
    this.#write(STILL_HERE);
  }

  #write(event: string): boolean {
    const response = this.#response;
    if (response.writableEnded || response.destroyed || response.writableLength > MAX_HELD_BYTES) return false;
    if (!this.#streaming) {
      this.#streaming = true;
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    }
    response.write(event);
    return true;
  }

  result(result: JsonObject, headers?: Headers): void {
    const bytes = this.#streaming ? undefined : bytesOf(result);
    if (bytes) {
      this.#endWith(bytes, headers);
      return;
    }
    let text: string;
    try {
      text = JSON.stringify({ jsonrpc: '2.0', id: this.#id, result });
    } catch {
      this.error({ status: 200, code: INTERNAL_ERROR, message: 'The answer cannot be written as JSON.' });
      return;
    }
    this.#end(200, text, headers);
  }

  error({ status, code, message, data }: Refusal, headers?: Headers): void {
    const error = data === undefined ? { code, message } : { code, message, data };
    this.#end(status, JSON.stringify({ jsonrpc: '2.0', id: this.#id, error }), headers);
  }

  /** The same as `#end` for what is written already: it goes out as it lies, uncopied. */
  #endWith(result: Buffer, headers?: Headers): void {
    const response = this.#response;
    if (response.writableEnded || response.destroyed) return;
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(this.#id)},"result":`;
    const length = Buffer.byteLength(head) + result.length + 1;
    response.writeHead(200, { ...headers, 'content-type': 'application/json', 'content-length': length });
    response.write(head);
    response.write(result);
    response.end('}');
  }

  #end(status: number, text: string, headers?: Headers): void {
    const response = this.#response;
    if (response.writableEnded || response.destroyed) return;
    if (this.#streaming) {
      response.end(`data: ${text}\n\n`);
      return;
    }
    const length = Buffer.byteLength(text);
    response.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': length });
    response.end(text);
  }
}

export const STILL_HERE = ': still here\n\n';
export const toEvent = (message: JsonObject): string => `data: ${JSON.stringify(message)}\n\n`;
