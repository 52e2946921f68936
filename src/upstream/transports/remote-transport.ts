import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Message } from '../../wire/json-rpc.ts';
import type { SendOptions, Transport } from '../../wire/transport.ts';

/** The part that HTTP, SSE and WebSocket transports share: callbacks, opening, and closing once with a reason. */
export abstract class RemoteTransport implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onlost: Transport['onlost'];
  protected readonly server: string;
  /** Sent as `mcp-protocol-version` by legacy HTTP transports. A modern message has its version in `_meta`. */
  protected protocolVersion: string | undefined;
  readonly #opened = Promise.withResolvers<void>();
  #isClosed = false;
  #closeReason = '';

  constructor(server: string) {
    this.server = server;
    this.#opened.promise.catch(() => {});
  }

  abstract start(): Promise<void>;
  abstract send(message: Message, options?: SendOptions): Promise<void>;
  /** Frees sockets and timers. Called once, by `close`. */
  protected abstract release(): void;

  protected get isClosed(): boolean {
    return this.#isClosed;
  }

  setProtocolVersion(version: string): void {
    this.protocolVersion = version;
  }

  /** Returns why the transport closed by itself; empty when it did not. */
  closeReason(): string {
    return this.#closeReason;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#opened.reject(notOpen(this.server, 'is closed'));
    this.release();
    this.onclose?.();
  }

  /** Starts opening and settles when `open` or `fail` is called. Fails with CALL_CANCELLED when the signal aborts. */
  protected async untilOpen(signal: AbortSignal, begin: () => void): Promise<void> {
    const cancel = () => this.fail(new HeddleError('CALL_CANCELLED', `Connecting to ${this.server} was cancelled.`));
    signal.addEventListener('abort', cancel, { once: true });
    try {
      if (signal.aborted) cancel();
      else begin();
      await this.#opened.promise;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  protected open(): void {
    this.#opened.resolve();
  }

  /** Reports the error and closes. Only the first reason is kept. */
  protected fail(error: Error, reason = error.message): void {
    if (this.#isClosed) return;
    this.#opened.reject(error);
    this.onerror?.(error);
    this.closeWith(reason);
  }

  protected closeWith(reason: string): void {
    if (this.#isClosed) return;
    this.#closeReason = reason;
    void this.close();
  }
}

/** The error for a message that could not be sent because of the state of the connection. */
export const notOpen = (server: string, state: string) =>
  new UpstreamError('UPSTREAM_FAILED', `The connection to ${server} ${state}.`, { delivered: 'no' });
