import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type PlainHead, readPlainHead } from './plain-head.ts';
import { KEEP_ALIVE_MS, PlainResponse } from './plain-response.ts';

/** A request that came whole, so that there is nothing to wait for. */
export interface PlainRequest extends Pick<PlainHead, 'url' | 'headers'> {
  readonly method: 'POST';
  readonly body: string;
}

/** Answers a plain request. May not throw. */
export type ReceivePlain = (request: PlainRequest, response: PlainResponse) => void;

export interface PlainConnections {
  /** Ends those on which nothing is under way, and each of the others with its answer. */
  finish(): void;
  /** Ends them all. */
  close(): void;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const MAX_HEAD_BYTES = 8 * 1024;
const MAX_WAITING_BYTES = 64 * 1024;

/**
 * Serves the plainest requests without Node's streams and events, which cost several times what such a request needs.
 * With the first request that is anything else its connection goes to Node, for good.
 */
export function servePlainly(server: Server, receive: ReceivePlain): PlainConnections {
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
  readonly receive: ReceivePlain;
  /** Told when it is over, or is somebody else's. */
  readonly onLeave: () => void;
  readonly handOver: () => void;
}

class PlainConnection {
  readonly #socket: Socket;
  readonly #ways: Ways;
  /** Clients repeat themselves: the last head, as it was written and as it was read. */
  #known: { readonly text: string; readonly head: PlainHead | undefined } | undefined;
  #answering: PlainResponse | undefined;
  /** What came before the answer was written. */
  #waiting: Buffer | undefined;
  #isLast = false;

  constructor(socket: Socket, ways: Ways) {
    this.#socket = socket;
    this.#ways = ways;
    socket.setTimeout(KEEP_ALIVE_MS);
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', onError);
    socket.on('close', this.#onClose);
  }

  finish(): void {
    this.#isLast = true;
    if (!this.#answering) this.close();
  }

  close(): void {
    this.#socket.destroy();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#answering || this.#waiting) this.#hold(chunk);
    else this.#take(chunk);
  };
  // Whoever stops talking does not wait for an answer either, as far as Node is concerned, but gets what is written.
  readonly #onEnd = (): void => void this.#socket.end();
  readonly #onTimeout = (): void => {
    if (!this.#answering || this.#answering.writableEnded) this.#socket.destroy();
  };
  readonly #onClose = (): void => {
    this.#ways.onLeave();
    this.#answering?.closed();
  };

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
    const response = new PlainResponse(this.#socket, (isLast) => this.#answered(isLast));
    this.#answering = response;
    this.#ways.receive({ method: 'POST', url, headers, body: chunk.toString('utf8', start, stop) }, response);
  }

  #headOf(text: string): PlainHead | undefined {
    if (this.#known?.text !== text) this.#known = { text, head: readPlainHead(text) };
    return this.#known.head;
  }

  #hold(chunk: Buffer): void {
    this.#waiting = this.#waiting ? Buffer.concat([this.#waiting, chunk]) : chunk;
    if (this.#waiting.length > MAX_WAITING_BYTES) this.#socket.pause();
  }

  #answered(isLast: boolean): void {
    this.#answering = undefined;
    if (isLast || this.#isLast) this.#socket.end();
    // Before anything else is heard: it may be that the client has no more to say.
    else if (this.#waiting) process.nextTick(this.#goOn);
  }

  readonly #goOn = (): void => {
    const chunk = this.#waiting;
    this.#waiting = undefined;
    this.#socket.resume();
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
