import type { JsonObject } from '../../core/call.ts';
import { INTERNAL_ERROR } from '../../wire/mcp.ts';
import { bytesOf } from '../methods/list-result.ts';
import { KEEP_ALIVE_COMMENT, type ResponseWriter } from '../response-writer.ts';
import type { RequestRefusal } from './check-headers.ts';
import type { EventStream, SessionEvents } from './session-events.ts';

/** Time that a client with a broken stream has to resume before its call is cancelled. */
const RESUME_MS = 500;

type Headers = Readonly<Record<string, string>>;

/**
 * The HTTP response to one JSON-RPC request. A JSON body costs least and is the default. The first message that is sent
 * before the result turns the response into an event stream.
 */
export class Reply {
  #response: ResponseWriter;
  readonly #id: string | number | null;
  readonly #cancelled = new AbortController();
  #isStreaming = false;
  #events: SessionEvents | undefined;
  #sendsPriming = false;
  #eventStream: EventStream | undefined;

  constructor(response: ResponseWriter, id: string | number | null) {
    this.#response = response;
    this.#id = id;
    this.#watchClose();
  }

  /** Keeps the events of this reply, so that a client whose stream breaks can resume it within 500 ms. */
  makeResumable(events: SessionEvents, sendsPriming: boolean): void {
    if (this.#response.isShared) return; // In a batch, `Last-Event-ID` could not tell the replies apart.
    this.#events = events;
    this.#sendsPriming = sendsPriming;
  }

  /** Aborts when the client cancels, or disconnects before the response. */
  get signal(): AbortSignal {
    return this.#cancelled.signal;
  }

  /** Cancels the request from the gateway's side and sends the error to the client. */
  cancelWith(refusal: RequestRefusal): void {
    this.error(refusal);
    this.#abort();
  }

  /** Cancels the request for the client, which gets an empty response. */
  cancel(): void {
    this.#abort();
    if (this.#response.headersSent) this.#response.end();
    else this.#response.writeHead(200, { 'content-type': 'text/event-stream' }).end();
  }

  notify(method: string, params: JsonObject): boolean {
    return this.send({ jsonrpc: '2.0', method, params });
  }

  /** Sends a message before the result. Returns false if the client has disconnected. */
  send(message: JsonObject): boolean {
    const { writableEnded, destroyed } = this.#response;
    // A client that cancelled during an input request still gets `notifications/cancelled` for it.
    const isOver = this.#cancelled.signal.aborted && (!this.#isStreaming || destroyed);
    if (isOver || writableEnded) return false;
    if (!this.#isStreaming) this.#beginStream();
    this.#writeEvent(message);
    return true;
  }

  /** Writes a comment, so that proxies do not close an idle stream. */
  keepAlive(): void {
    const response = this.#response;
    if (this.#isStreaming && !response.destroyed && !response.writableEnded) response.write(KEEP_ALIVE_COMMENT);
  }

  #beginStream(): void {
    this.#isStreaming = true;
    const response = this.#response;
    if (response.destroyed) return;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    this.#eventStream = this.#events?.begin((next) => this.#resume(next));
    if (this.#eventStream && this.#sendsPriming) response.write(this.#eventStream.keep(''));
  }

  #writeEvent(message: JsonObject): void {
    const event = this.#eventStream?.keep(JSON.stringify(message)) ?? toEvent(message);
    if (!this.#response.destroyed) this.#response.write(event);
  }

  #watchClose(): void {
    const response = this.#response;
    response.once('close', () => {
      if (response.writableFinished || response !== this.#response) return;
      if (!this.#eventStream) return this.#abort();
      setTimeout(() => response === this.#response && this.#abort(), RESUME_MS).unref();
    });
  }

  #abort(): void {
    this.#eventStream?.finish();
    this.#cancelled.abort();
  }

  /** Continues on the response of a client that resumed. */
  #resume(next: ResponseWriter): void {
    const previous = this.#response;
    this.#response = next;
    previous.destroy();
    this.#watchClose();
  }

  result(result: JsonObject, headers?: Headers): void {
    const bytes = this.#isStreaming ? undefined : bytesOf(result);
    if (bytes) {
      this.#endWithBytes(bytes, headers);
      return;
    }
    let text: string;
    try {
      text = JSON.stringify({ jsonrpc: '2.0', id: this.#id, result });
    } catch {
      this.error({ status: 200, code: INTERNAL_ERROR, message: 'The result cannot be serialized as JSON.' });
      return;
    }
    this.#end(200, text, headers);
  }

  error({ status, code, message, data }: RequestRefusal, headers?: Headers): void {
    const error = data === undefined ? { code, message } : { code, message, data };
    this.#end(status, JSON.stringify({ jsonrpc: '2.0', id: this.#id, error }), headers);
  }

  /** Sends a result that is serialized already, without copying it. */
  #endWithBytes(result: Buffer, headers?: Headers): void {
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
    if (response.writableEnded || (response.destroyed && !this.#eventStream)) return;
    if (this.#isStreaming) {
      const event = this.#eventStream?.keep(text) ?? `data: ${text}\n\n`;
      this.#eventStream?.finish();
      response.end(event);
      return;
    }
    const length = Buffer.byteLength(text);
    response.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': length });
    response.end(text);
  }
}

const toEvent = (message: JsonObject): string => `data: ${JSON.stringify(message)}\n\n`;
