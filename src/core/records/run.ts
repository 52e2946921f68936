import type { Json, JsonObject, Role } from '../call.ts';

/**
 * The state of a run. `waiting`: every branch waits for a time, a person or a task. `in_doubt`: a person has to tell
 * whether a call happened. The last four are ends.
 */
export type RunStatus =
  | 'running'
  | 'waiting'
  | 'in_doubt'
  | 'succeeded'
  | 'failed'
  | 'cancelled'
  | 'compensation_failed';

/** The statuses of runs that have ended. */
export const ENDED_STATUSES: readonly RunStatus[] = ['succeeded', 'failed', 'cancelled', 'compensation_failed'];

/** The error of a run or of one step. */
export interface RunError {
  /** An error code of Heddle, or the code of an interpreter rule: `NO_MAJORITY`, `LOOP_EXCEEDED`, … */
  readonly code: string;
  readonly message: string;
  readonly fix?: string;
  /** The path of the step that failed first. */
  readonly path?: string;
  readonly details?: JsonObject;
  /** It is unknown whether a call that failed had effects. */
  readonly mayHaveActed?: true;
}

/** The caller that a run belongs to. Each resume looks up its roles again. */
export interface RunCaller {
  readonly id: string;
  readonly roles: readonly Role[];
  readonly via: string;
  readonly profile?: string;
  readonly agent?: string;
}

/** The configuration of the process that began a run. On SQLite only processes of the same origin execute the run. */
export interface RunOrigin {
  /** The project folder, without symbolic links. */
  readonly folder: string;
  /** The file of `--config`, without symbolic links; absent if the files of the project apply. */
  readonly file?: string;
  /** A program with a `config`, `servers` or `hooks` of its own began the run. */
  readonly program?: true;
}

/** A run of a workflow. */
export interface Run {
  readonly id: string;
  readonly workflow: string;
  /** SHA-256 of the canonical definition, which stays the same for the whole run. */
  readonly digest: string;
  /** The version of the interpreter that began the run. A newer one is reported, not touched. */
  readonly interpreter: number;
  readonly status: RunStatus;
  readonly caller: RunCaller;
  /** The run and path of the `workflow` step that began this run. */
  readonly parent?: { readonly run: string; readonly path: string };
  /** The number of runs above this one. */
  readonly depth: number;
  /** The run whose finished steps this one took over, and the first step that runs again. */
  readonly retryOf?: { readonly run: string; readonly from: string };
  /** Absent in runs of earlier versions: any process executes those. */
  readonly origin?: RunOrigin;
  readonly startedAt: number;
  readonly endedAt?: number;
  /** The time of the next wake-up, of a run that waits. */
  readonly wakeAt?: number;
  /** The run is due, but no living process executes it. On Postgres this is known 9 s after its process has died. */
  readonly stopped?: true;
  readonly error?: RunError;
}

/** A line of the log of a run. */
export interface RunLog {
  readonly stepId: string;
  readonly path: string;
  readonly type: 'start' | 'complete' | 'error' | 'skip';
  readonly message: string;
  readonly timestamp: number;
}

/** The result of a run, also of one that failed. */
export interface RunResult {
  readonly runId: string;
  readonly status: RunStatus;
  readonly success: boolean;
  readonly output: Json;
  readonly error?: RunError;
  readonly executionTimeMs: number;
  readonly stepsExecuted: number;
  readonly logs: readonly RunLog[];
}

/** Options of a run. */
export interface RunOptions {
  /** Ends the run with `timeout`. */
  readonly timeoutMs?: number;
  /** Returns once the run is stored. A process with runs executes it. */
  readonly detach?: boolean;
}

/** The ways in which a person settles a call in doubt. */
export const RESOLUTIONS = ['happened', 'not-happened', 'retry'] as const;

/** The decision of a person about a call in doubt. */
export interface RunResolution {
  /** The path of the step; not needed if one step is in doubt. */
  readonly path?: string;
  readonly how: (typeof RESOLUTIONS)[number];
  /** The result of a call that happened. */
  readonly result?: Json;
  readonly note?: string;
}

/** Selects runs. */
export interface RunQuery {
  readonly status?: RunStatus | 'open' | 'all';
  readonly workflow?: string;
  readonly limit?: number;
}

/** An event of the history of a run. */
export interface RunEvent {
  readonly sequence: number;
  readonly at: number;
  /** `started`, `finished`, `timer`, …: the kinds of workflow/journal/entries.ts. */
  readonly kind: string;
  /** The path of the step; empty for events of the run. */
  readonly path: string;
  readonly detail: JsonObject;
}

/** A step in doubt, with the audit records of its call. */
export interface StepInDoubt {
  readonly path: string;
  readonly tool: string;
  readonly callId: string;
  readonly since: number;
  readonly records: readonly JsonObject[];
}
