import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../core/call.ts';
import type { HttpResponse } from './response-writer.ts';

/** The method, URL and headers of a request. */
export type RequestHead = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** The caller of a request whose credential was accepted. */
export interface AuthenticatedCaller {
  readonly caller: Caller;
  /** Checks the same credential again. Resolves to false if it no longer stands for the same caller. */
  readonly isStillAuthorized: () => Promise<boolean>;
}

/** An HTTP request whose credential was accepted. */
export interface AuthenticatedRequest extends AuthenticatedCaller {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A POST whose head and body arrived in one chunk, as read by the fast HTTP path. */
export interface FastRequest {
  readonly method: 'POST';
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An authenticated POST, from Node's HTTP server or from the fast path. */
export interface PostRequest extends AuthenticatedCaller {
  readonly request: IncomingMessage | FastRequest;
  readonly response: HttpResponse;
}
