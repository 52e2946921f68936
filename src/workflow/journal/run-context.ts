import type { Caller, JsonObject } from '../../core/call.ts';
import type { RunResolution } from '../../core/records/run.ts';
import type { Clock } from '../../core/time.ts';
import type { RunFence, StoredRun } from '../../store/run-journal.ts';
import type { RunParts } from '../run/run-parts.ts';
import type { Activity } from './activity.ts';
import type { RunEvents } from './events.ts';
import type { WasSent } from './find-intents.ts';
import type { History } from './history.ts';
import type { Pauses } from './pauses.ts';
import type { RunWriter } from './run-writer.ts';
import type { Sleeps } from './sleeps.ts';
import type { StepSending } from './step-sending.ts';

/** The parts that the operations of one execution share. */
export interface RunContext {
  readonly run: StoredRun;
  readonly fence: RunFence;
  /** The caller of the run, with the roles that it has now. */
  readonly caller: Caller;
  /** Rejects with RunInterrupted if its key was revoked. */
  readonly requireCaller: () => Promise<void>;
  readonly parts: RunParts;
  readonly history: History;
  readonly writer: RunWriter;
  readonly activity: Activity;
  readonly sleeps: Sleeps;
  readonly pauses: Pauses;
  readonly events: RunEvents;
  readonly wasSent: WasSent;
  readonly clock: Clock;
  /** Aborts when this process does not execute the run any more. Calls in flight are aborted with it. */
  readonly interrupted: AbortSignal;
  /** Aborts when no more calls may begin: the process closes. */
  readonly draining: AbortSignal;
  readonly doubts: Doubts;
  readonly children: RunChildren;
  /** The journal or the fence refuses this process. */
  readonly onLost: () => void;
}

/** The calls of a run of which it is unknown whether they happened. */
export interface Doubts {
  readonly size: number;
  /** Waits for the decision of a person; undefined if the step is cancelled first. */
  resolution(sending: StepSending): Promise<Omit<RunResolution, 'path'> | undefined>;
  /** Notes the decision of a person. Does nothing if the call is not in doubt, or the decision is unknown. */
  resolve(resolution: RunResolution, by: string): void;
}

/** The calls of a run that may have begun other runs. */
export interface RunChildren {
  /** Notes a call, before it can begin a run. The returned function ends it. */
  add(sending: StepSending): () => void;
  /** A child waits for a person, or goes on: meanwhile no timeout of the steps above it counts. */
  onWaiting(isWaiting: boolean, detail: JsonObject): void;
}
