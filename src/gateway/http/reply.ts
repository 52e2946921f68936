import type { JsonObject } from '../../core/call.ts';
import { INTERNAL_ERROR } from '../../wire/mcp.ts';
import { bytesOf } from '../methods/list-result.ts';
import { KEEP_ALIVE_COMMENT, type ResponseWriter, writeOrDisconnect } from '../response-writer.ts';
import type { RequestRefusal } from './check-headers.ts';
import type { EventStream, SessionEvents } from './event-store.ts';

/** How long a call goes on for a client whose stream broke, unless it comes back for the rest. */
const RESUME_MS = 500;

type Headers = Readonly<Record<string, string>>;

/**
 * The way back for one request. Starts as plain JSON, which is cheapest, and
 * becomes an event stream with the first notification that comes before the answer.
 */
export class Reply {
  #response: ResponseWriter;
  readonly #id: string | number | null;
  readonly #gone = new AbortController();
  #streaming = false;
  #events: SessionEvents | undefined;
  #prime = false;
  #kept: EventStream | undefined;

  constructor(response: ResponseWriter, id: string | number | null) {
    this.#response = response;
    this.#id = id;
    this.#watch();
  }

  /** From now on a client whose line breaks has a moment to come back for the rest. */
  keepIn(events: SessionEvents, prime: boolean): void {
    if (this.#response.isShared) return; // Which of several streams broke could not be said.
    this.#events = events;
    this.#prime = prime; // Older clients take an event without data for a broken message.
  }

  /** Aborts when the client cancels, or leaves before it was answered. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** Cancels the request for a reason of ours, which the client is told. */
  cancelWith(refusal: RequestRefusal): void {
    this.error(refusal);
    this.#leave();
  }

  /** The client no longer wants an answer, and gets none. */
  cancel(): void {
    this.#leave();
    if (this.#response.headersSent) this.#response.end();
    else this.#response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
  }

  notify(method: string, params: JsonObject): boolean {
    return this.send({ jsonrpc: '2.0', method, params });
  }

  /** Says something before the answer; false when the client is gone. */
  send(message: JsonObject): boolean {
    const { writableEnded, destroyed } = this.#response;
    // Who cancels while it is asked something can still be told that the question is withdrawn.
    const isOver = this.#gone.signal.aborted && (!this.#streaming || destroyed);
    if (isOver || writableEnded) return false;
    if (!this.#streaming) this.#beginStream();
    this.#tell(message);
    return true;
  }

  /** Shows whatever lies between that the answer is still to come. */
  keepAlive(): void {
    const response = this.#response;
    if (this.#streaming && !response.destroyed && !response.writableEnded)
      writeOrDisconnect(response, KEEP_ALIVE_COMMENT);
  }

  #beginStream(): void {
    this.#streaming = true;
    const response = this.#response;
    if (response.destroyed) return;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    this.#kept = this.#events?.begin((next) => this.#resume(next));
    if (this.#kept && this.#prime) response.write(this.#kept.keep(''));
  }

  #tell(message: JsonObject): void {
    const event = this.#kept?.keep(JSON.stringify(message)) ?? toEvent(message);
    if (!this.#response.destroyed) writeOrDisconnect(this.#response, event);
  }

  #watch(): void {
    const response = this.#response;
    response.once('close', () => {
      if (response.writableFinished || response !== this.#response) return;
      if (!this.#kept) return this.#leave();
      setTimeout(() => response === this.#response && this.#leave(), RESUME_MS).unref();
    });
  }

  #leave(): void {
    this.#kept?.finish();
    this.#gone.abort();
  }

  /** The client has come back for the rest. */
  #resume(next: ResponseWriter): void {
    const last = this.#response;
    this.#response = next;
    last.destroy();
    this.#watch();
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

  error({ status, code, message, data }: RequestRefusal, headers?: Headers): void {
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
    if (response.writableEnded || (response.destroyed && !this.#kept)) return;
    if (this.#streaming) {
      const event = this.#kept?.keep(text) ?? `data: ${text}\n\n`;
      this.#kept?.finish();
      response.end(event);
      return;
    }
    const length = Buffer.byteLength(text);
    response.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': length });
    response.end(text);
  }
}

const toEvent = (message: JsonObject): string => `data: ${JSON.stringify(message)}\n\n`;
