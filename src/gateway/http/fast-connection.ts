import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastRequest } from '../http-request.ts';
import type { UnsentBytes } from '../unsent-bytes.ts';
import { type FastHead, readFastHead } from './fast-head.ts';
import { FastResponse, KEEP_ALIVE_MS } from './fast-response.ts';

/** Handles a fast request. Must not throw. */
export type ReceiveFast = (request: FastRequest, response: FastResponse) => void;

export interface FastConnections {
  /** Closes idle connections now, and each of the others after its response. */
  finish(): void;
  /** Closes all connections. */
  close(): void;
}

/** Time within which a new connection must send its first request head. */
export const HEADERS_MS = 10_000;
const HEAD_END = Buffer.from('\r\n\r\n');
const MAX_HEAD_BYTES = 8 * 1024;
const MAX_PIPELINED_BYTES = 256 * 1024;
// One second more than announced, as in Node: a client may be about to send.
const IDLE_MS = KEEP_ALIVE_MS + 1000;

/**
 * Serves simple POSTs without Node's HTTP streams and events, which cost several times as much.
 * The first request of any other form hands its connection over to Node's HTTP server for good.
 */
export function serveFast(server: Server, unsent: UnsentBytes, receive: ReceiveFast): FastConnections {
  const [toNode] = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  if (!toNode) throw new Error('The HTTP server has no connection listener.');
  server.off('connection', toNode);
  const open = new Set<FastConnection>();
  server.on('connection', (socket: Socket) => {
    const connection = new FastConnection(socket, {
      receive,
      unsent,
      onLeave: () => open.delete(connection),
      handOver: () => toNode.call(server, socket),
    });
    open.add(connection);
  });
  return {
    finish() {
      for (const connection of open) connection.finish();
    },
    close() {
      for (const connection of open) connection.close();
    },
  };
}

interface ConnectionHooks {
  readonly receive: ReceiveFast;
  readonly unsent: UnsentBytes;
  /** Runs when the connection is closed or handed over. */
  readonly onLeave: () => void;
  /** Passes the socket to Node's HTTP server. */
  readonly handOver: () => void;
}

class FastConnection {
  readonly #socket: Socket;
  readonly #hooks: ConnectionHooks;
  /** The last head, raw and parsed: clients mostly send the same one again. */
  #lastHead: { readonly text: string; readonly head: FastHead | undefined } | undefined;
  #response: FastResponse | undefined;
  /** Pipelined bytes that arrived before the response was written. */
  #pipelined: Buffer | undefined;
  #hasReceived = false;
  #isLast = false;

  constructor(socket: Socket, hooks: ConnectionHooks) {
    this.#socket = socket;
    this.#hooks = hooks;
    socket.setTimeout(HEADERS_MS);
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', onError);
    socket.on('close', this.#onClose);
  }

  finish(): void {
    this.#isLast = true;
    if (!this.#response) this.close();
    else if (!this.#response.headersSent) this.#response.setHeader('connection', 'close');
  }

  close(): void {
    this.#socket.destroy();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#response || this.#pipelined) this.#pipeline(chunk);
    else this.#take(chunk);
  };
  // As in Node, ending the socket during a call counts as a disconnect. After the response it may be read to its end.
  readonly #onEnd = (): void => {
    if (this.#isRunning()) this.#socket.destroy();
    else this.#socket.destroySoon();
  };
  readonly #onTimeout = (): void => {
    if (!this.#isRunning()) this.#socket.destroy();
  };
  readonly #onClose = (): void => {
    this.#hooks.onLeave();
    this.#response?.closed();
  };

  #isRunning(): boolean {
    return this.#response?.writableEnded === false;
  }

  #take(chunk: Buffer): void {
    const headEnd = chunk.indexOf(HEAD_END);
    const head =
      headEnd < 0 || headEnd > MAX_HEAD_BYTES ? undefined : this.#headOf(chunk.toString('latin1', 0, headEnd));
    const start = headEnd + HEAD_END.length;
    if (!head || chunk.length < start + head.bodyBytes) {
      this.#handOver(chunk);
      return;
    }
    const { url, headers, bodyBytes } = head;
    const bodyEnd = start + bodyBytes;
    if (bodyEnd < chunk.length) this.#pipelined = chunk.subarray(bodyEnd);
    if (!this.#hasReceived) this.#socket.setTimeout(IDLE_MS);
    this.#hasReceived = true;
    const response = new FastResponse(this.#socket, this.#hooks.unsent, (isLast) => this.#onResponseEnd(isLast));
    this.#response = response;
    this.#hooks.receive({ method: 'POST', url, headers, body: chunk.toString('utf8', start, bodyEnd) }, response);
  }

  #headOf(text: string): FastHead | undefined {
    if (this.#lastHead?.text !== text) this.#lastHead = { text, head: readFastHead(text) };
    return this.#lastHead.head;
  }

  /** Disconnects a client that pipelines over 256 kB. Leaving it unread would hide that the client disconnected. */
  #pipeline(chunk: Buffer): void {
    this.#pipelined = this.#pipelined ? Buffer.concat([this.#pipelined, chunk]) : chunk;
    if (this.#pipelined.length > MAX_PIPELINED_BYTES) this.#socket.destroy();
  }

  #onResponseEnd(isLast: boolean): void {
    this.#response = undefined;
    if (isLast || this.#isLast) {
      this.#socket.off('data', this.#onData); // Later requests get no response.
      this.#pipelined = undefined;
      this.#socket.destroySoon();
    } else if (this.#pipelined) process.nextTick(this.#takePipelined); // Runs before the socket's `end` event.
  }

  readonly #takePipelined = (): void => {
    const chunk = this.#pipelined;
    this.#pipelined = undefined;
    if (chunk && this.#socket.writable) this.#take(chunk);
  };

  /** Hands the connection over to Node, beginning with this request. */
  #handOver(chunk: Buffer): void {
    const socket = this.#socket;
    this.#hooks.onLeave();
    socket.setTimeout(0);
    socket.off('data', this.#onData).off('end', this.#onEnd).off('timeout', this.#onTimeout);
    socket.off('error', onError).off('close', this.#onClose);
    socket.pause();
    socket.unshift(chunk);
    this.#hooks.handOver();
    socket.resume();
  }
}

/** Ignores socket errors: the `close` event follows. */
function onError(): void {}
