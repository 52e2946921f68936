import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastRequest } from '../http-request.ts';
import { type FastHead, readFastHead } from './fast-head.ts';
import { FastResponse, KEEP_ALIVE_MS } from './fast-response.ts';

/** Answers a plain request. May not throw. */
export type ReceiveFast = (request: FastRequest, response: FastResponse) => void;

export interface FastConnections {
  /** Ends those on which nothing is under way, and each of the others with its answer. */
  finish(): void;
  /** Ends them all. */
  close(): void;
}

/** How long a new connection waits for the head of its first request. */
export const HEADERS_MS = 10_000;
const HEAD_END = Buffer.from('\r\n\r\n');
const MAX_HEAD_BYTES = 8 * 1024;
const MAX_WAITING_BYTES = 256 * 1024;
// Node waits a second longer than it says, too: a client may be just about to send.
const IDLE_MS = KEEP_ALIVE_MS + 1000;

/**
 * Serves the plainest requests without Node's streams and events, which cost several times what such a request needs.
 * With the first request that is anything else its connection goes to Node, for good.
 */
export function serveFast(server: Server, receive: ReceiveFast): FastConnections {
  const [toNode] = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  if (!toNode) throw new Error('The server has nobody who takes its connections.');
  server.off('connection', toNode);
  const open = new Set<PlainConnection>();
  server.on('connection', (socket: Socket) => {
    const connection = new PlainConnection(socket, {
      receive,
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

interface Ways {
  readonly receive: ReceiveFast;
  /** Told when it is over, or is somebody else's. */
  readonly onLeave: () => void;
  readonly handOver: () => void;
}

class PlainConnection {
  readonly #socket: Socket;
  readonly #ways: Ways;
  /** Clients repeat themselves: the last head, as it was written and as it was read. */
  #known: { readonly text: string; readonly head: FastHead | undefined } | undefined;
  #answering: FastResponse | undefined;
  /** What came before the answer was written. */
  #waiting: Buffer | undefined;
  #isKnown = false;
  #isLast = false;

  constructor(socket: Socket, ways: Ways) {
    this.#socket = socket;
    this.#ways = ways;
    socket.setTimeout(HEADERS_MS);
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', onError);
    socket.on('close', this.#onClose);
  }

  finish(): void {
    this.#isLast = true;
    if (!this.#answering) this.close();
    else if (!this.#answering.headersSent) this.#answering.setHeader('connection', 'close');
  }

  close(): void {
    this.#socket.destroy();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#answering || this.#waiting) this.#hold(chunk);
    else this.#take(chunk);
  };
  // As with Node: whoever stops talking while it is called for them has left, and who only reads may read to the end.
  readonly #onEnd = (): void => {
    if (this.#isRunning()) this.#socket.destroy();
    else this.#socket.destroySoon();
  };
  readonly #onTimeout = (): void => {
    if (!this.#isRunning()) this.#socket.destroy();
  };
  readonly #onClose = (): void => {
    this.#ways.onLeave();
    this.#answering?.closed();
  };

  #isRunning(): boolean {
    return this.#answering?.writableEnded === false;
  }

  #take(chunk: Buffer): void {
    const end = chunk.indexOf(HEAD_END);
    const head = end < 0 || end > MAX_HEAD_BYTES ? undefined : this.#headOf(chunk.toString('latin1', 0, end));
    const start = end + HEAD_END.length;
    if (!head || chunk.length < start + head.bodyBytes) {
      this.#leave(chunk);
      return;
    }
    const { url, headers, bodyBytes } = head;
    const stop = start + bodyBytes;
    if (stop < chunk.length) this.#waiting = chunk.subarray(stop);
    if (!this.#isKnown) this.#socket.setTimeout(IDLE_MS);
    this.#isKnown = true;
    const response = new FastResponse(this.#socket, (isLast) => this.#answered(isLast));
    this.#answering = response;
    this.#ways.receive({ method: 'POST', url, headers, body: chunk.toString('utf8', start, stop) }, response);
  }

  #headOf(text: string): FastHead | undefined {
    if (this.#known?.text !== text) this.#known = { text, head: readFastHead(text) };
    return this.#known.head;
  }

  /** Whoever sends that much without waiting for an answer is cut off: unread, it would hide that its client left. */
  #hold(chunk: Buffer): void {
    this.#waiting = this.#waiting ? Buffer.concat([this.#waiting, chunk]) : chunk;
    if (this.#waiting.length > MAX_WAITING_BYTES) this.#socket.destroy();
  }

  #answered(isLast: boolean): void {
    this.#answering = undefined;
    if (isLast || this.#isLast) {
      this.#socket.off('data', this.#onData); // What comes now could not be answered.
      this.#waiting = undefined;
      this.#socket.destroySoon();
    } else if (this.#waiting) process.nextTick(this.#goOn); // Before it is heard that its client has no more to say.
  }

  readonly #goOn = (): void => {
    const chunk = this.#waiting;
    this.#waiting = undefined;
    if (chunk && this.#socket.writable) this.#take(chunk);
  };

  /** Node begins where this request begins. */
  #leave(chunk: Buffer): void {
    const socket = this.#socket;
    this.#ways.onLeave();
    socket.setTimeout(0);
    socket.off('data', this.#onData).off('end', this.#onEnd).off('timeout', this.#onTimeout);
    socket.off('error', onError).off('close', this.#onClose);
    socket.pause();
    socket.unshift(chunk);
    this.#ways.handOver();
    socket.resume();
  }
}

/** The end of the connection says the rest. */
function onError(): void {}
