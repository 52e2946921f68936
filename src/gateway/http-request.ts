import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../core/call.ts';
import type { FastRequest } from './http/fast-connection.ts';
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

/** One that posts something, whichever way it came. */
export interface PostRequest extends AuthenticatedCaller {
  readonly request: IncomingMessage | FastRequest;
  readonly response: HttpResponse;
}
