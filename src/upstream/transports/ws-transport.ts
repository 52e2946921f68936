import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import type { Message, Transport } from '../../wire/json-rpc.ts';
import { answeredId, MAX_MESSAGE_BYTES, tooLarge, unreadable } from './bad-message.ts';
import { toRefusal, toTransportFailure } from './http-failure.ts';

export interface WsTransportOptions {
  readonly server: string;
  readonly url: URL;
  /** Sent with the upgrade. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the wait for the server to accept the line. */
  readonly signal: AbortSignal;
  readonly maxMessageBytes?: number | undefined;
  readonly maxQueuedBytes?: number;
  readonly pingMs?: number;
  readonly upgradeMs?: number | undefined;
}

const MIB = 1024 * 1024;
const PING_MS = 30_000;
const UPGRADE_MS = 15_000;
const GOODBYE_MS = 300;
const MAX_REFUSAL_CHARS = 4096;
const TOO_BIG = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';

type Coded = Error & { readonly code?: string };

/** One WebSocket with the subprotocol `mcp`; each text frame is a message. */
export class WsClientTransport implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onlost: Transport['onlost'];
  readonly #options: WsTransportOptions;
  readonly #opened = Promise.withResolvers<void>();
  #socket: WebSocket | undefined;
  #pings: NodeJS.Timeout | undefined;
  #heard = true;
  #closed = false;
  #ending = '';

  constructor(options: WsTransportOptions) {
    this.#options = options;
    this.#opened.promise.catch(() => {});
  }

  /** Settles when the server has accepted the line. */
  async start(): Promise<void> {
    const {
      server,
      url,
      headers = {},
      signal,
      maxMessageBytes = MAX_MESSAGE_BYTES,
      upgradeMs = UPGRADE_MS,
    } = this.#options;
    const giveUp = () => this.#fail(new HeddleError('CALL_CANCELLED', `Connecting to ${server} was cancelled.`));
    if (signal.aborted) {
      giveUp();
      return this.#opened.promise;
    }
    const socket = new WebSocket(url, ['mcp'], {
      headers,
      maxPayload: maxMessageBytes,
      perMessageDeflate: false, // Small messages gain nothing, and a small one could unfold into a huge one.
      followRedirects: false,
      handshakeTimeout: upgradeMs,
    });
    this.#socket = socket;
    socket.on('open', () => this.#open(socket));
    socket.on('unexpected-response', (_, response) => void this.#refuse(response));
    socket.on('error', (error) => this.#break(error));
    socket.on('close', (code, reason) => this.#end(`It closed the line (${code} ${reason}`.trimEnd().concat(').')));
    socket.on('message', (bytes, isBinary) => this.#receive(bytes as Buffer, isBinary));
    socket.on('pong', () => {
      this.#heard = true;
    });
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      await this.#opened.promise;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** Why the line closed by itself; empty when it did not. */
  ending(): string {
    return this.#ending;
  }

  /** Settles when the message has been handed to the network. */
  send(message: Message): Promise<void> {
    const { server, maxQueuedBytes = 64 * MIB } = this.#options;
    const socket = this.#socket;
    if (this.#closed || socket?.readyState !== WebSocket.OPEN) return Promise.reject(unsent(server, 'is closed'));
    if (socket.bufferedAmount > maxQueuedBytes) {
      return Promise.reject(unsent(server, `is stuck: more than ${maxQueuedBytes} bytes wait to be taken`));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.send(JSON.stringify(message), (error) => (error ? reject(toTransportFailure(server, error)) : resolve()));
    return promise;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#pings);
    this.#opened.reject(unsent(this.#options.server, 'is closed'));
    const socket = this.#socket;
    // The other side gets a moment to say goodbye, too; nobody waits for it.
    const timer = setTimeout(() => socket?.terminate(), GOODBYE_MS).unref();
    socket?.once('close', () => clearTimeout(timer));
    if (socket?.readyState === WebSocket.OPEN) socket.close(1000);
    else socket?.terminate();
    this.onclose?.();
  }

  #open(socket: WebSocket): void {
    const { pingMs = PING_MS } = this.#options;
    this.#pings = setInterval(() => {
      if (!this.#heard) return this.#abandon(`It did not answer a ping within ${pingMs} ms.`);
      this.#heard = false;
      socket.ping();
    }, pingMs).unref();
    this.#opened.resolve();
  }

  #receive(bytes: Buffer, isBinary: boolean): void {
    this.#heard = true;
    if (this.#closed) return;
    const text = bytes.toString('utf8');
    try {
      if (isBinary) throw new Error('A binary frame came where only text is spoken.');
      this.onmessage?.(parseJson(text, { keys: 'any', maxChars: Infinity, numbers: 'exact' }) as Message);
    } catch (thrown) {
      this.onerror?.(thrown as Error);
      const id = answeredId(text);
      if (id !== undefined) this.onlost?.(id, unreadable(this.#options.server, thrown));
    }
  }

  // A peer that is only half there would never close by itself.
  #abandon(reason: string): void {
    this.#socket?.terminate();
    this.#end(reason);
  }

  async #refuse(response: IncomingMessage): Promise<void> {
    const { server, url } = this.#options;
    let text = '';
    response.setEncoding('utf8');
    try {
      for await (const chunk of response) {
        text += chunk;
        if (text.length > MAX_REFUSAL_CHARS) break;
      }
    } catch {
      // What was read of it is enough.
    }
    const { statusCode: status = 0, headers } = response;
    this.#fail(toRefusal(server, { ok: false, status, headers, text }, asHttp(url)));
  }

  #break(error: Coded): void {
    const { server, maxMessageBytes = MAX_MESSAGE_BYTES } = this.#options;
    const isTooBig = error.code === TOO_BIG;
    if (isTooBig) {
      this.#ending = `It sent a message of more than ${maxMessageBytes} bytes, the limit: raise its \`maxMessageBytes\`.`;
    }
    const opened = this.#pings !== undefined;
    if (isTooBig) this.#fail(tooLarge(server, maxMessageBytes));
    else this.#fail(opened ? toTransportFailure(server, error) : refusedUpgrade(server, error));
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    this.#opened.reject(error);
    this.onerror?.(error);
    this.#end(error.message);
  }

  #end(reason: string): void {
    if (this.#closed) return;
    this.#ending ||= reason;
    void this.close();
  }
}

/** Nothing has been asked yet, whatever went wrong. */
function refusedUpgrade(server: string, cause: Coded): UpstreamError {
  const failure = toTransportFailure(server, cause);
  if (failure.delivered === 'no') return failure;
  return new UpstreamError('UPSTREAM_UNREACHABLE', `${server} did not accept a WebSocket (${cause.message}).`, {
    delivered: 'no',
    cause,
    details: failure.details,
    fix: `Check that ${server} speaks MCP over WebSocket, with the subprotocol \`mcp\`, at its \`url\`.`,
  });
}

const unsent = (server: string, why: string) =>
  new UpstreamError('UPSTREAM_FAILED', `The line to ${server} ${why}.`, { delivered: 'no' });

const asHttp = (url: URL): URL => new URL(url.href.replace(/^ws/i, 'http'));
