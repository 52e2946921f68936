import type { Continuation } from '../../core/call.ts';
import type { StepCall } from '../run/durable.ts';

/** The sending of the call of a step. */
export interface StepSending {
  readonly path: string;
  readonly call: StepCall;
  /** Counts the times that the call was sent. A call in doubt may be sent again. */
  readonly send: number;
  readonly callId: string;
  readonly startedAt: number;
  /** How a call goes on that an earlier execution has begun. */
  readonly continuation?: Continuation;
}
