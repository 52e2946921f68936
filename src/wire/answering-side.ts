import type { JsonObject } from '../core/call.ts';
import { INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, type Message, RpcError } from './json-rpc.ts';

/** A request of the other side, as the one who answers sees it. */
export interface Asked {
  readonly id: string | number;
  readonly signal: AbortSignal;
  /** Our request id, when the line knows on whose stream the question came. */
  readonly askedBy: number | undefined;
}

/** A request of the other side, as it came. */
export interface Arrived {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
  readonly askedBy: number | undefined;
}

export interface AnswerOptions {
  /** Answers what the other side asks. Throw an `RpcError` to refuse. */
  readonly answer?: (method: string, params: JsonObject, asked: Asked) => Promise<JsonObject>;
  /** Faults that belong to no request of ours: garbage, broken streams, answers that threw. */
  readonly trouble?: (error: Error) => void;
}

/** The half of a JSON-RPC peer that answers: `ping` by itself, the rest by `answer`. */
export class AnsweringSide {
  readonly #options: AnswerOptions;
  readonly #send: (message: Message) => Promise<void>;
  readonly #running = new Map<string | number, AbortController>();

  constructor(options: AnswerOptions, send: (message: Message) => Promise<void>) {
    this.#options = options;
    this.#send = send;
  }

  async answer({ id, method, params, askedBy }: Arrived): Promise<void> {
    if (this.#running.has(id)) {
      const message = `The id ${JSON.stringify(id)} is still in use.`;
      return this.#say({ jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message } });
    }
    const abort = new AbortController();
    this.#running.set(id, abort);
    const outcome = await this.#outcome(method, params, { id, signal: abort.signal, askedBy });
    this.#running.delete(id);
    if (abort.signal.aborted) return; // Whoever cancelled no longer wants the answer.
    await this.#say({ jsonrpc: '2.0', id, ...outcome });
  }

  cancel(id: unknown): void {
    if (typeof id === 'string' || typeof id === 'number') this.#running.get(id)?.abort();
  }

  close(): void {
    for (const abort of this.#running.values()) abort.abort();
  }

  #say(message: Message): Promise<void> {
    return this.#send(message).catch((error) => this.#options.trouble?.(error));
  }

  async #outcome(method: string, params: JsonObject, asked: Asked): Promise<JsonObject> {
    if (method === 'ping') return { result: {} };
    try {
      if (!this.#options.answer) throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
      return { result: await this.#options.answer(method, params, asked) };
    } catch (thrown) {
      if (thrown instanceof RpcError) return { error: thrown.toAnswer() };
      this.#options.trouble?.(thrown instanceof Error ? thrown : new Error(String(thrown)));
      return { error: { code: INTERNAL_ERROR, message: 'The request could not be handled.' } };
    }
  }
}
