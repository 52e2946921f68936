import type { JsonObject } from '../core/call.ts';
import { isRawNumber, type RawNumber } from '../core/exact-numbers.ts';
import { type Message, RpcError } from './json-rpc.ts';
import { INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND } from './mcp.ts';

/** The id of a request. Integers over 2^53 are raw numbers, and are returned as they came. */
export type RequestId = string | number | RawNumber;

const LONG_INTEGER = /^-?\d{1,100}$/;

export const isRequestId = (id: unknown): id is RequestId =>
  typeof id === 'string' || typeof id === 'number' || (isRawNumber(id) && LONG_INTEGER.test(id.rawJSON));

/** Returns a map key: each raw number is an object of its own, even when two are the same id. */
const keyOf = (id: RequestId) => (typeof id === 'object' ? BigInt(id.rawJSON) : id);

/** The context in which a request of the other side is answered. */
export interface IncomingRequest {
  readonly id: RequestId;
  readonly signal: AbortSignal;
  /** Our request id, if the transport knows on whose stream the request arrived. */
  readonly relatedRequestId: number | undefined;
}

/** A request of the other side, as received. */
export interface ReceivedRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly relatedRequestId: number | undefined;
}

export interface IncomingRequestOptions {
  /** Answers a request. Throws an `RpcError` to refuse it. */
  readonly answer?: (method: string, params: JsonObject, request: IncomingRequest) => Promise<JsonObject>;
  /** Receives faults without a request of ours: invalid messages, broken streams, handlers that threw. */
  readonly trouble?: (error: Error) => void;
}

/** Returns the response to a request whose id another request in flight has. */
export const toIdInUse = (id: RequestId): Message => {
  const message = `The id ${JSON.stringify(id)} is still in use.`;
  return { jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message } };
};

/** Answers the requests of the other side: `ping` directly, the rest by `answer`. */
export class IncomingRequests {
  readonly #options: IncomingRequestOptions;
  readonly #send: (message: Message) => Promise<void>;
  readonly #running = new Map<string | number | bigint, AbortController>();

  constructor(options: IncomingRequestOptions, send: (message: Message) => Promise<void>) {
    this.#options = options;
    this.#send = send;
  }

  async answer({ id, method, params, relatedRequestId }: ReceivedRequest): Promise<void> {
    const key = keyOf(id);
    if (this.#running.has(key)) {
      return this.#reply(toIdInUse(id));
    }
    const abort = new AbortController();
    this.#running.set(key, abort);
    const outcome = await this.#outcome(method, params, { id, signal: abort.signal, relatedRequestId });
    this.#running.delete(key);
    if (abort.signal.aborted) return; // A cancelled request gets no response.
    await this.#reply({ jsonrpc: '2.0', id, ...outcome });
  }

  cancel(id: unknown): void {
    if (isRequestId(id)) this.#running.get(keyOf(id))?.abort();
  }

  close(): void {
    for (const abort of this.#running.values()) abort.abort();
  }

  #reply(message: Message): Promise<void> {
    return this.#send(message).catch((error) => this.#options.trouble?.(error));
  }

  async #outcome(method: string, params: JsonObject, request: IncomingRequest): Promise<JsonObject> {
    if (method === 'ping') return { result: {} };
    try {
      if (!this.#options.answer) throw new RpcError(METHOD_NOT_FOUND, `${method} is not supported.`);
      return { result: await this.#options.answer(method, params, request) };
    } catch (thrown) {
      if (thrown instanceof RpcError) return { error: thrown.toError() };
      this.#options.trouble?.(thrown instanceof Error ? thrown : new Error(String(thrown)));
      return { error: { code: INTERNAL_ERROR, message: 'The request could not be handled.' } };
    }
  }
}
