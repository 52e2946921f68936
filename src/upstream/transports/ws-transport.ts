import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { UpstreamError } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import type { Message } from '../../wire/json-rpc.ts';
import type { Credential } from '../auth/credential.ts';
import { authorize, isRefused, lowerCaseNames, mayResend } from './authorization.ts';
import { answeredId, MAX_MESSAGE_BYTES, tooLarge, unreadable } from './bad-message.ts';
import { toRefusal, toTransportFailure } from './http-failure.ts';
import { notOpen, RemoteTransport } from './remote-transport.ts';

type Headers = Readonly<Record<string, string>>;

export interface WsTransportOptions {
  readonly server: string;
  readonly url: URL;
  /** Sent with the upgrade request. */
  readonly headers?: Headers;
  /** Authorizes each upgrade request. Its headers win over `headers`. */
  readonly credential?: Credential | undefined;
  /** Ends the wait for the upgrade. */
  readonly signal: AbortSignal;
  readonly maxMessageBytes?: number | undefined;
  readonly maxQueuedBytes?: number;
  readonly pingMs?: number;
  readonly upgradeMs?: number | undefined;
}

const MIB = 1024 * 1024;
const PING_MS = 30_000;
const UPGRADE_MS = 15_000;
const CLOSE_MS = 300;
const MAX_REFUSAL_CHARS = 4096;
const TOO_BIG = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';

type CodedError = Error & { readonly code?: string };

/** A WebSocket with the subprotocol `mcp`. Each text frame is a message. */
export class WsClientTransport extends RemoteTransport {
  readonly #options: WsTransportOptions;
  #socket: WebSocket | undefined;
  #pings: NodeJS.Timeout | undefined;
  #hasReceived = true;

  constructor(options: WsTransportOptions) {
    super(options.server);
    this.#options = { ...options, headers: lowerCaseNames(options.headers) };
  }

  /** Settles when the server has accepted the upgrade. */
  start(): Promise<void> {
    return this.untilOpen(this.#options.signal, () => void this.#connect().catch((error) => this.fail(error)));
  }

  async #connect(isRetry = false): Promise<void> {
    const { url, headers, credential, signal } = this.#options;
    const sent = (await authorize(credential, { method: 'GET', url: toHttpUrl(url), signal })) ?? {};
    if (!this.isClosed) this.#upgrade({ ...headers, ...sent }, (response) => this.#refuse(response, sent, isRetry));
  }

  #upgrade(headers: Headers, onRefused: (response: IncomingMessage) => Promise<void>): void {
    const { url, maxMessageBytes = MAX_MESSAGE_BYTES, upgradeMs = UPGRADE_MS } = this.#options;
    const socket = new WebSocket(url, ['mcp'], {
      headers,
      maxPayload: maxMessageBytes,
      perMessageDeflate: false, // Small messages gain nothing, and a small frame could decompress into a huge one.
      followRedirects: false,
      handshakeTimeout: upgradeMs,
    });
    this.#socket = socket;
    socket.on('open', () => this.#onOpen(socket));
    socket.on('unexpected-response', (_, response) => void onRefused(response).catch((error) => this.fail(error)));
    socket.on('error', (error) => this.#onError(error));
    socket.on('close', (code, reason) => this.closeWith(`It closed the WebSocket (${`${code} ${reason}`.trimEnd()}).`));
    socket.on('message', (bytes, isBinary) => this.#receive(bytes as Buffer, isBinary));
    socket.on('pong', () => {
      this.#hasReceived = true;
    });
  }

  /** Settles when the message has been handed to the network. */
  send(message: Message): Promise<void> {
    const { server, maxQueuedBytes = 64 * MIB } = this.#options;
    const socket = this.#socket;
    if (this.isClosed || socket?.readyState !== WebSocket.OPEN) return Promise.reject(notOpen(server, 'is closed'));
    if (socket.bufferedAmount > maxQueuedBytes) {
      return Promise.reject(notOpen(server, `is stuck: more than ${maxQueuedBytes} bytes wait to be read`));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.send(JSON.stringify(message), (error) => (error ? reject(toTransportFailure(server, error)) : resolve()));
    return promise;
  }

  protected release(): void {
    clearInterval(this.#pings);
    const socket = this.#socket;
    // The server gets 300 ms for its close frame; close() does not wait for it.
    const timer = setTimeout(() => socket?.terminate(), CLOSE_MS).unref();
    socket?.once('close', () => clearTimeout(timer));
    if (socket?.readyState === WebSocket.OPEN) socket.close(1000);
    else socket?.terminate();
  }

  #onOpen(socket: WebSocket): void {
    const { pingMs = PING_MS } = this.#options;
    this.#pings = setInterval(() => {
      if (!this.#hasReceived) return this.#terminate(`It did not answer a ping within ${pingMs} ms.`);
      this.#hasReceived = false;
      socket.ping();
    }, pingMs).unref();
    this.open();
  }

  #receive(bytes: Buffer, isBinary: boolean): void {
    this.#hasReceived = true;
    if (this.isClosed) return;
    const text = bytes.toString('utf8');
    try {
      if (isBinary) throw new Error('A binary frame arrived; MCP uses text frames.');
      this.onmessage?.(parseJson(text, { keys: 'any', maxChars: Infinity, numbers: 'exact' }) as Message);
    } catch (thrown) {
      this.onerror?.(thrown as Error);
      const id = answeredId(text);
      if (id !== undefined) this.onlost?.(id, unreadable(this.server, thrown));
    }
  }

  // A half-open peer never sends a close frame.
  #terminate(reason: string): void {
    this.#socket?.terminate();
    this.closeWith(reason);
  }

  async #refuse(response: IncomingMessage, sent: Headers, isRetry: boolean): Promise<void> {
    const { statusCode: status = 0, headers } = response;
    const { server, credential, signal } = this.#options;
    const url = toHttpUrl(this.#options.url);
    if (isRefused({ status })) {
      const may = await mayResend(credential, { server, url, head: { status, headers }, sent, isRetry, signal });
      if (may) return this.#connectAgain();
    }
    let text = '';
    response.setEncoding('utf8');
    try {
      for await (const chunk of response) {
        text += chunk;
        if (text.length > MAX_REFUSAL_CHARS) break;
      }
    } catch {
      // The part of the body that was read is enough.
    }
    this.fail(toRefusal(server, { ok: false, status, headers, text }, url));
  }

  #connectAgain(): Promise<void> {
    const refused = this.#socket;
    refused?.removeAllListeners().on('error', () => {}); // Ending the refused upgrade is no failure.
    refused?.terminate();
    return this.#connect(true);
  }

  #onError(error: CodedError): void {
    const { server, maxMessageBytes = MAX_MESSAGE_BYTES } = this.#options;
    const isOpen = this.#pings !== undefined;
    if (error.code !== TOO_BIG) {
      this.fail(isOpen ? toTransportFailure(server, error) : toUpgradeFailure(server, error, this.#options.url));
      return;
    }
    const reason = `It sent a message of more than ${maxMessageBytes} bytes, the limit: raise its \`maxMessageBytes\`.`;
    this.fail(tooLarge(server, maxMessageBytes), reason);
  }
}

/** The error for a failed upgrade. No request has been sent, so `delivered` is always `no`. */
function toUpgradeFailure(server: string, cause: CodedError, url: URL): UpstreamError {
  const failure = toTransportFailure(server, cause, toHttpUrl(url).origin);
  if (failure.delivered === 'no') return failure;
  return new UpstreamError('UPSTREAM_UNREACHABLE', `${server} did not accept a WebSocket (${cause.message}).`, {
    delivered: 'no',
    cause,
    details: failure.details,
    fix: `Check that ${server} speaks MCP over WebSocket, with the subprotocol \`mcp\`, at its \`url\`.`,
  });
}

const toHttpUrl = (url: URL): URL => new URL(url.href.replace(/^ws/i, 'http'));
