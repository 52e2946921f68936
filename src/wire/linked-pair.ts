import type { JsonObject } from '../core/call.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import { isObject } from '../core/json.ts';
import type { Message, Transport } from './json-rpc.ts';

/** Two lines that are each other's far end, in one process. Delivers on a microtask; closing either closes both. */
export function linkedPair(): readonly [Transport, Transport] {
  const left = new LinkedLine();
  const right = new LinkedLine();
  left.link(right);
  right.link(left);
  return [left, right];
}

/** A server in process computes with the arguments it is given. */
function withPlainArguments(message: Message): Message {
  const { params } = message;
  const input = isObject(params) ? params.arguments : undefined;
  const plain = withPlainNumbers(input);
  return plain === input ? message : { ...message, params: { ...(params as JsonObject), arguments: plain } };
}

class LinkedLine implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  #far: LinkedLine | undefined;
  #waiting: Message[] | undefined = [];
  #closed = false;

  link(far: LinkedLine): void {
    this.#far = far;
  }

  async start(): Promise<void> {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const message of waiting) this.#receive(message);
  }

  async send(message: Message): Promise<void> {
    if (this.#closed) throw new Error('The line is closed.');
    if (this.#far) this.#far.#receive(withPlainArguments(message));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
    await Promise.resolve(); // What was sent before is delivered first, as on a pipe.
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
