import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../core/call.ts';
import type { HttpResponse } from './response-writer.ts';

/** As much of a request as says who asks, for what, and from where. */
export type RequestHead = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** Whoever was let in. */
export interface AuthenticatedCaller {
  readonly caller: Caller;
  /** Whether the same credential would be let in again, as the same caller. */
  readonly isStillAuthorized: () => Promise<boolean>;
}

/** One HTTP request that has passed the door. */
export interface AuthenticatedRequest extends AuthenticatedCaller {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A POST whose body has arrived completely, as read by the fast HTTP path. */
export interface FastRequest {
  readonly method: 'POST';
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** One that posts something, whichever way it came. */
export interface PostRequest extends AuthenticatedCaller {
  readonly request: IncomingMessage | FastRequest;
  readonly response: HttpResponse;
}
