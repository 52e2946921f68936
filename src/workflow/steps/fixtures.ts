import type { JsonObject } from '../../core/call.ts';
import type { RunStop, StepApprovalRequest } from '../run/durable.ts';

/** The response of a tool in a test. Without `error` it is a result. */
export interface ToolResponse {
  readonly result?: JsonObject;
  /** The server's whole result object, instead of `result`. */
  readonly raw?: JsonObject;
  readonly error?: {
    readonly code: string;
    readonly mayHaveActed?: boolean;
    readonly isRetryable?: boolean;
    readonly retryAfterMs?: number;
  };
  readonly afterMs?: number;
}

/** A call as a server of a test sees it. */
export interface SentCall {
  readonly tool: string;
  readonly input: JsonObject;
  readonly path: string;
  readonly attempt: number;
}

/** A decision of an approver. */
export interface Decision {
  readonly afterMs: number;
  readonly kind: 'approved' | 'rejected' | 'expired';
  readonly content?: JsonObject;
  readonly note?: string;
}

/** The surroundings of a simulated run. */
export interface World {
  readonly tool: (call: SentCall) => ToolResponse;
  readonly decide?: (path: string, request: StepApprovalRequest) => Decision | undefined;
  readonly cancelAt?: number;
  readonly cancelReason?: RunStop;
}
