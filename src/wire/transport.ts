import type { Message } from './json-rpc.ts';

/**
 * Carries JSON-RPC messages between two peers. It has the members of the SDK's `Transport`.
 * In addition it can abandon one request by id and name the request on whose stream a message arrived.
 */
export interface Transport {
  onmessage?: ((message: Message, origin?: MessageOrigin) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  /** Called for a response that arrived but cannot be read. */
  onlost?: ((id: number, error: Error) => void) | undefined;
  /** True when each request has its own stream, so that a response can be lost while the transport stays open. */
  readonly hasPerRequestStream?: boolean;
  start(): Promise<void>;
  send(message: Message, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
  abandon?(id: number): void;
}

export interface MessageOrigin {
  /** Our request id, if the transport knows on whose stream the message arrived. */
  readonly relatedRequestId?: number | undefined;
}

export interface SendOptions {
  /** Called when the stream of a request ended without its response, with what came instead. */
  readonly onRequestStreamEnd?: (reason?: Error) => void;
  /** Further HTTP headers for this message. Other transports ignore them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The deadline of the response. A transport retries after `Retry-After` only within it. */
  readonly deadlineMs?: number;
  /** True when the request may be sent twice. */
  readonly repeatable?: boolean;
  /** Ends the wait for the acceptance of a notification or response. Requests are ended by `abandon`. */
  readonly signal?: AbortSignal;
}
