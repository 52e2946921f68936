import type { JsonObject } from '../core/call.ts';

/** How long a request waits for its answer, and who is told what meanwhile. */
export interface RequestOptions {
  /** Silence longer than this fails the request. */
  readonly deadlineMs: number;
  /** Progress restarts the deadline, but never past this; default: the deadline itself. */
  readonly longestMs?: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: JsonObject) => void) | undefined;
  /** The request whose token is used for progress: one that was answered, and goes on in this one. */
  readonly progressOf?: number | undefined;
  /** Told what the other side says on the stream of this request, where the line knows. */
  readonly onNotification?: ((method: string, params: JsonObject) => void) | undefined;
  /** Said in the envelope of this request instead of what the line says; only modern servers see it. */
  readonly envelope?: JsonObject | undefined;
  /** Further headers, where the line has any. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether it may be sent a second time; what is no call of a tool may, unless said. */
  readonly repeatable?: boolean;
  /** Told the id of the request before it is sent. */
  readonly onId?: ((id: number) => void) | undefined;
  /** Told when we gave up on the request, with a promise that the other side has been told, too. */
  readonly onGivenUp?: ((told: Promise<void>) => void) | undefined;
  /** Told the answer that comes soon after we gave up; only when none does, the other side is told that we did. */
  readonly onLate?: ((result: JsonObject) => void) | undefined;
}
