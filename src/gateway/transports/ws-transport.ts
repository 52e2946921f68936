import { WebSocket } from 'ws';
import type { Message, Transport } from '../../wire/json-rpc.ts';
import { INVALID_REQUEST } from '../../wire/mcp.ts';
import { type ClientTransport, MAX_UNREAD_BYTES, PAUSE_BYTES, receiveText, refuse } from './client-transport.ts';

const PING_MS = 25_000;
const GOODBYE_MS = 300;
const GOING_AWAY = 1001;

/** A client at the other end of a WebSocket: one message per text frame. */
export class WsServerTransport implements ClientTransport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onbatch: ClientTransport['onbatch'];
  acceptsBatches = false;
  readonly ended: Promise<void>;
  readonly #socket: WebSocket;
  readonly #pingMs: number;
  readonly #end: () => void;
  #pings: NodeJS.Timeout | undefined;
  #heard = true;
  #closed = false;

  constructor(socket: WebSocket, pingMs = PING_MS) {
    this.#socket = socket;
    this.#pingMs = pingMs;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
  }

  async start(): Promise<void> {
    const socket = this.#socket;
    socket.on('message', (bytes: Buffer, isBinary) => {
      this.#heard = true;
      if (isBinary) refuse(this, INVALID_REQUEST, 'Messages have to be text.');
      else receiveText(bytes.toString('utf8'), this);
    });
    socket.on('pong', () => {
      this.#heard = true;
    });
    socket.on('error', (error) => this.onerror?.(error)); // It closes right after.
    socket.once('close', () => void this.close());
    // A client whose machine is gone would never close by itself.
    this.#pings = setInterval(() => {
      if (!this.#heard) return this.#cut();
      this.#heard = socket.isPaused; // While we do not read, its answer is not heard either.
      socket.ping();
    }, this.#pingMs).unref();
  }

  async send(message: Message): Promise<void> {
    const socket = this.#socket;
    if (this.#closed || socket.readyState !== WebSocket.OPEN) throw new Error('The client has left.');
    socket.send(JSON.stringify(message), () => {
      if (socket.isPaused && socket.bufferedAmount <= PAUSE_BYTES) socket.resume();
    });
    if (socket.bufferedAmount > MAX_UNREAD_BYTES) this.#cut();
    else if (socket.bufferedAmount > PAUSE_BYTES) socket.pause();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#pings);
    const socket = this.#socket;
    const timer = setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
    socket.once('close', () => clearTimeout(timer));
    socket.resume(); // Or its goodbye would not be heard.
    socket.close(GOING_AWAY);
    this.#end();
    this.onclose?.();
  }

  #cut(): void {
    this.#socket.terminate();
    void this.close();
  }
}
