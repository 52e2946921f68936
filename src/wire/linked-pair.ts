import type { JsonObject } from '../core/call.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import { isObject } from '../core/json.ts';
import type { Message } from './json-rpc.ts';
import type { Transport } from './transport.ts';

/** Returns two connected in-process transports. Messages arrive on a microtask; closing one closes both. */
export function linkedPair(): readonly [Transport, Transport] {
  const left = new LinkedTransport();
  const right = new LinkedTransport();
  left.link(right);
  right.link(left);
  return [left, right];
}

/** Converts raw numbers in the arguments to plain numbers, because an in-process server computes with them. */
function withPlainArguments(message: Message): Message {
  const { params } = message;
  const input = isObject(params) ? params.arguments : undefined;
  const plain = withPlainNumbers(input);
  return plain === input ? message : { ...message, params: { ...(params as JsonObject), arguments: plain } };
}

class LinkedTransport implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  #far: LinkedTransport | undefined;
  #waiting: Message[] | undefined = [];
  #closed = false;

  link(far: LinkedTransport): void {
    this.#far = far;
  }

  async start(): Promise<void> {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const message of waiting) this.#receive(message);
  }

  async send(message: Message): Promise<void> {
    if (this.#closed) throw new Error('The transport is closed.');
    if (this.#far) this.#far.#receive(withPlainArguments(message));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
    await Promise.resolve(); // Earlier messages are delivered first, as on a pipe.
    await this.#far?.close();
  }

  #receive(message: Message): void {
    if (this.#waiting) this.#waiting.push(message);
    else
      queueMicrotask(() => {
        if (!this.#closed) this.onmessage?.(message);
      });
  }
}
