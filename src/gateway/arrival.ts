import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../core/call.ts';
import type { Response } from './outlet.ts';
import type { PlainRequest } from './plain-connection.ts';

/** As much of a request as says who asks, for what, and from where. */
export type Head = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** Whoever was let in. */
export interface Admitted {
  readonly caller: Caller;
  /** Whether the same credential would be let in again, as the same caller. */
  readonly stillMay: () => Promise<boolean>;
}

/** One HTTP request that has passed the door. */
export interface Arrival extends Admitted {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** One that posts something, whichever way it came. */
export interface Posting extends Admitted {
  readonly request: IncomingMessage | PlainRequest;
  readonly response: Response;
}
