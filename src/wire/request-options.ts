import type { JsonObject } from '../core/call.ts';

/** The deadline of a request and the callbacks while it is in flight. */
export interface RequestOptions {
  /** The request fails after this time without a response or progress. */
  readonly deadlineMs: number;
  /** Progress restarts the deadline up to this limit; default: the deadline itself. */
  readonly longestMs?: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: JsonObject) => void) | undefined;
  /** The id of an answered request that this one continues. Its token is used for progress. */
  readonly progressOf?: number | undefined;
  /** Receives notifications on the stream of this request, if the transport has one per request. */
  readonly onNotification?: ((method: string, params: JsonObject) => void) | undefined;
  /** Overrides members of the `_meta` envelope for this request; modern servers only. */
  readonly envelope?: JsonObject | undefined;
  /** Further HTTP headers. Other transports ignore them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** True when it may be sent twice. Default: true for every method but `tools/call`. */
  readonly repeatable?: boolean;
  /** Receives the id of the request before it is sent. */
  readonly onId?: ((id: number) => void) | undefined;
  /** Called when the request is given up, with a promise that settles when the cancellation has been sent. */
  readonly onGivenUp?: ((cancelled: Promise<void>) => void) | undefined;
  /** Receives a response within 5 s after the deadline. Without one the request is then cancelled. */
  readonly onLate?: ((result: JsonObject) => void) | undefined;
}
