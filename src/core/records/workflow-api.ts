import type { PendingApproval } from '../call/approval.ts';
import type { Caller, InputRequest, InputResponses, Json, JsonObject } from '../call.ts';
import type { Run, RunEvent, RunOptions, RunQuery, RunResolution, RunResult, StepInDoubt } from './run.ts';
import type { DryRun, LintReport, WorkflowSource, WorkflowSummary } from './workflow.ts';

/** A workflow by its name, or a definition that is run without being registered. */
export type WorkflowChoice = string | WorkflowSource;

/** The workflows of the configuration and those registered at run time. A caller sees those that `decide` permits. */
export interface Workflows {
  list(by: Caller): Promise<readonly WorkflowSummary[]>;
  /** Returns the canonical definition. Throws NAME_UNKNOWN, or WORKFLOW_INVALID for a source with an error. */
  get(by: Caller, workflow: WorkflowChoice): Promise<WorkflowSummary & { readonly definition: JsonObject }>;
  /** Adds a workflow at run time. Throws WORKFLOW_INVALID with the first problem, or NAME_TAKEN. Requires `owner` or `operator`. */
  register(by: Caller, source: WorkflowSource): Promise<WorkflowSummary>;
  /** Removes a registered workflow. Its runs go on. Throws NAME_UNKNOWN. */
  unregister(by: Caller, name: string): Promise<void>;
  /** Checks a workflow against the tools that `by` may see. Calls no tool. */
  lint(by: Caller, workflow: WorkflowChoice, signal: AbortSignal): Promise<LintReport>;
  /** Plans a run: resolves what does not depend on results, validates it and decides on each call. Calls no tool. */
  plan(by: Caller, workflow: WorkflowChoice, input: JsonObject, signal: AbortSignal): Promise<DryRun>;
  /** Draws a workflow as a Mermaid flowchart. */
  toMermaid(by: Caller, workflow: WorkflowChoice): Promise<string>;
}

/** A request for input that a step of a run has made. */
export interface RunInputRequest {
  readonly path: string;
  readonly server: string;
  readonly inputRequests: Readonly<Record<string, InputRequest>>;
}

/** Follows a run that this caller has started. */
export interface RunFollower {
  /** Receives each event of the history as it is written. */
  readonly onEvent?: (event: RunEvent) => void;
  /** Receives the id of each approval that a step waits for, those of the runs below this one included. */
  readonly onStepApproval?: (approval: string) => void;
  /** Answers input requests of steps. Without it such a step fails and names the callers that could respond. */
  readonly onInput?: (request: RunInputRequest, signal: AbortSignal) => Promise<InputResponses>;
  /**
   * Resolves once an approval of the workflow's own tool is no longer pending, or with `approved` if the user has
   * approved the call here. Without it the start fails with APPROVAL_PENDING.
   */
  readonly onApproval?: (approval: PendingApproval, signal: AbortSignal) => Promise<{ readonly approved?: 'self' }>;
  /** The user at the terminal has agreed to the call of the workflow's tool beforehand. */
  readonly approved?: 'self';
  /** Ends the wait for the start. A run that was started goes on. */
  readonly signal?: AbortSignal;
}

/**
 * Runs of workflows. Callers see their own; `owner`, `operator` and `auditor` see all. Changes are audited.
 * An id may be the beginning of an id; throws NAME_UNKNOWN or NAME_AMBIGUOUS.
 */
export interface Runs {
  /** Starts a run through `dispatch`, so that every rule for the workflow's tool holds. Throws what `dispatch` throws. */
  start(by: Caller, workflow: WorkflowChoice, input: JsonObject, options: RunOptions & RunFollower): Promise<Run>;
  list(by: Caller, query: RunQuery): Promise<readonly Run[]>;
  /** Returns a run with its calls in doubt, and with its input, defaults included. */
  get(
    by: Caller,
    id: string,
  ): Promise<Run & { readonly input: Json; readonly output?: Json; readonly doubts: readonly StepInDoubt[] }>;
  /** Returns the history from the event after `after` on. */
  events(by: Caller, id: string, after?: number): Promise<readonly RunEvent[]>;
  /** Waits until the run has ended, in whichever process. An abort ends the wait, not the run. */
  settled(by: Caller, id: string, signal: AbortSignal): Promise<RunResult>;
  /** Requests cancellation. Compensations run before the run ends. Does nothing to a run that has ended. */
  cancel(by: Caller, id: string, reason?: string): Promise<Run>;
  /** Executes a run in this process if no living process owns it. Throws RUN_OWNED. */
  resume(by: Caller, id: string): Promise<Run>;
  /** Starts a new run that takes over the results of all steps before `from`. */
  retry(by: Caller, id: string, from: string): Promise<Run>;
  /** Settles a call in doubt. Requires the caller of the run, `owner`, `operator` or `approver`. */
  resolve(by: Caller, id: string, resolution: RunResolution): Promise<Run>;
}
