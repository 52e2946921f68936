import { WebSocket } from 'ws';
import type { Message } from '../../wire/json-rpc.ts';
import { INVALID_REQUEST } from '../../wire/mcp.ts';
import { encodeLong } from '../unsent-bytes.ts';
import { type CountUnsent, PAUSE_BYTES, receiveText, sendError } from './client-transport.ts';
import { GatewayTransport } from './gateway-transport.ts';

const PING_MS = 25_000;
const CLOSE_HANDSHAKE_MS = 300;
const GOING_AWAY = 1001;

/** The gateway's transport to a WebSocket client: one message per text frame. */
export class WsServerTransport extends GatewayTransport {
  readonly countUnsent: CountUnsent;
  readonly #socket: WebSocket;
  readonly #pingMs: number;
  #pings: NodeJS.Timeout | undefined;
  #isAlive = true;

  constructor(socket: WebSocket, countUnsent: CountUnsent, pingMs = PING_MS) {
    super();
    this.countUnsent = countUnsent;
    this.#socket = socket;
    this.#pingMs = pingMs;
  }

  async start(): Promise<void> {
    const socket = this.#socket;
    socket.on('message', (bytes: Buffer, isBinary) => {
      this.#isAlive = true;
      if (isBinary) sendError(this, INVALID_REQUEST, 'A message must be a text frame.');
      else receiveText(bytes.toString('utf8'), this);
    });
    socket.on('pong', () => {
      this.#isAlive = true;
    });
    socket.on('error', (error) => this.onerror?.(error)); // `close` follows.
    socket.once('close', () => void this.close());
    // The socket of a client whose machine is gone never closes by itself.
    this.#pings = setInterval(() => {
      if (!this.#isAlive) return this.#terminate();
      this.#isAlive = socket.isPaused; // A paused socket does not read the pong.
      socket.ping();
    }, this.#pingMs).unref();
  }

  async send(message: Message): Promise<void> {
    const socket = this.#socket;
    this.throwIfClosed(this.isClosed || socket.readyState !== WebSocket.OPEN);
    socket.send(encodeLong(JSON.stringify(message)), { binary: false }, () => {
      if (socket.isPaused && socket.bufferedAmount <= PAUSE_BYTES) socket.resume();
    });
    if (socket.bufferedAmount === 0) return;
    if (socket.bufferedAmount > PAUSE_BYTES) socket.pause();
    this.countUnsent();
  }

  protected disconnect(): void {
    clearInterval(this.#pings);
    const socket = this.#socket;
    const timer = setTimeout(() => socket.terminate(), CLOSE_HANDSHAKE_MS).unref();
    socket.once('close', () => clearTimeout(timer));
    socket.resume(); // A paused socket does not read the close frame of the client.
    socket.close(GOING_AWAY);
  }

  #terminate(): void {
    this.#socket.terminate();
    void this.close();
  }
}
