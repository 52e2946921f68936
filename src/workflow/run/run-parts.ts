import type { Call, Caller, ClientCapabilities, Handler, InputResponses, Json, Target } from '../../core/call.ts';
import type { RunInputRequest } from '../../core/records/workflow-api.ts';
import type { Clock, Timer } from '../../core/time.ts';
import type { AuditLog } from '../../store/audit-log.ts';
import type { RunJournal, StoredRun } from '../../store/run-journal.ts';
import type { Workflow } from '../definition/canonical.ts';
import type { ApprovalEnd, Durable, StepApprovalRequest } from './durable.ts';

/** The parts of Heddle that execute runs. */
export interface RunParts {
  readonly journal: RunJournal;
  readonly audit: Pick<AuditLog, 'read'>;
  readonly dispatch: Handler;
  /** Looks up the target of a call. */
  readonly describe: (call: Call) => Promise<Target>;
  /** Looks up the caller of a run again; undefined if its key was revoked. */
  readonly callerOf: (run: Pick<StoredRun, 'caller' | 'startedAt'>) => Promise<Caller | undefined>;
  readonly approvals: RunApprovals;
  /** Returns the caller that waits for a run in this process and can respond to input requests. */
  readonly inputOf?: (run: string) => RunInput | undefined;
  /** Interprets a definition. Throws a failure with `status`, `error` and `stepsExecuted`. */
  readonly execute: (workflow: Workflow, input: Json, parts: ExecuteParts) => Promise<Executed>;
  readonly clock?: Clock;
  readonly timer?: Timer;
}

export interface ExecuteParts {
  readonly durable: Durable;
  readonly run: StoredRun;
}

export interface Executed {
  readonly output: Json;
  readonly stepsExecuted: number;
}

/** Responds to the input requests of steps. */
export interface RunInput {
  readonly capabilities: ClientCapabilities;
  respond(request: RunInputRequest, signal: AbortSignal): Promise<InputResponses>;
}

/** An approval step that wants a decision. */
export interface StepApproval {
  readonly run: StoredRun;
  readonly path: string;
  readonly request: StepApprovalRequest;
  readonly caller: Caller;
}

/** The state of an approval of a run. */
export type ApprovalState =
  | { readonly kind: 'pending'; readonly expiresAt: number }
  | { readonly kind: 'settled'; readonly end: ApprovalEnd };

/** The approvals that runs wait for. A decision sends the signal `decided` with `{approval}` to the run. */
export interface RunApprovals {
  /** Requests the approval of a step, or finds the one of the same run, path and content. Returns its id. */
  request(step: StepApproval): Promise<string>;
  /** Returns the state of an approval, of a step or of a call. */
  state(id: string): Promise<ApprovalState>;
  /** Ends a pending approval that no step needs any more. */
  withdraw(id: string): Promise<void>;
}
