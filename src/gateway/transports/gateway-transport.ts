import type { Message } from '../../wire/json-rpc.ts';
import type { Transport } from '../../wire/transport.ts';
import type { ClientTransport, CountUnsent } from './client-transport.ts';

/** State and closing of a gateway transport to one client. The stdio, SSE and WebSocket transports extend it. */
export abstract class GatewayTransport implements ClientTransport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  onbatch: ClientTransport['onbatch'];
  acceptsBatches = false;
  readonly ended: Promise<void>;
  /** Resolves `ended`. */
  protected readonly end: () => void;
  protected isClosed = false;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.end = resolve;
  }

  abstract start(): Promise<void>;
  abstract send(message: Message): Promise<void>;
  abstract readonly countUnsent: CountUnsent;

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.disconnect();
    this.end();
    this.onclose?.();
  }

  /** Releases the stream or socket. Called once. */
  protected abstract disconnect(): void;

  protected throwIfClosed(isClosed = this.isClosed): void {
    if (isClosed) throw new Error('The client has disconnected.');
  }
}
