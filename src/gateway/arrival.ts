import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../core/call.ts';

/** One HTTP request that has passed the door. */
export interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  /** Whether the same credential would be let in again, as the same caller. */
  readonly stillMay: () => Promise<boolean>;
}
