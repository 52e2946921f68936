import { BoundedMap } from '../../core/bounded-map.ts';
import type { Call } from '../../core/call.ts';
import type { RunEvent } from '../../core/records/run.ts';
import type { RunFollower } from '../../core/records/workflow-api.ts';
import { type RunWatch, untilEnded } from './run-watch.ts';

export interface FollowEventsOptions {
  readonly watch: RunWatch;
  readonly run: string;
  /** The sequence of the last event that is known. */
  readonly after?: number;
  readonly onEvent: (event: RunEvent) => void;
}

/** Passes on the events of a run as they are committed. The returned function reads those that are left, and ends it. */
export function followEvents({ watch, run, after = 0, onEvent }: FollowEventsOptions): () => Promise<void> {
  let last = after;
  let reading: Promise<void> = Promise.resolve();
  async function read(): Promise<void> {
    for (const entry of await watch.journal.entries(run, last)) {
      if (entry.sequence <= last) continue;
      last = entry.sequence;
      onEvent(entry);
    }
  }
  // One read at a time, so that events keep their order. A failed read is repeated with the next change.
  const next = () => {
    reading = reading.then(read).catch(() => {});
    return reading;
  };
  const end = watch.on(run, () => void next());
  void next();
  return async () => {
    end();
    await next();
  };
}

export interface RunFollowers {
  /** Passes on the events of a run, and the approvals of it and of the runs below it, until it has ended. */
  follow(run: string, follower: Pick<RunFollower, 'onEvent' | 'onStepApproval'>): void;
  /** Resolves when the follower of a run has got every event. */
  done(run: string): Promise<void>;
}

export function runFollowers(watch: RunWatch, closing: AbortSignal): RunFollowers {
  const followed = new Map<string, Promise<void>>();

  function follow(run: string, { onEvent, onStepApproval }: RunFollower): void {
    if ((!onEvent && !onStepApproval) || followed.has(run)) return;
    const end = followEvents({
      watch,
      run,
      onEvent(event) {
        onEvent?.(event);
        const { approval, child } = event.kind === 'waiting' ? event.detail : {};
        if (onStepApproval && typeof approval === 'string') onStepApproval(approval);
        if (onStepApproval && typeof child === 'string') follow(child, { onStepApproval });
      },
    });
    const ended = untilEnded({ watch, run, signal: closing }).then(end, end);
    followed.set(
      run,
      ended.finally(() => followed.delete(run)),
    );
  }

  return { follow, done: async (run) => followed.get(run) };
}

export interface ReportProgressOptions {
  readonly watch: RunWatch;
  readonly run: string;
  readonly call: Pick<Call, 'id' | 'onProgress'>;
}

const MAX_CALLS = 1000;

/**
 * Returns a function that reports each step that begins or ends as progress of a call, while the call or a poll of it is
 * open. The number of steps to come is not known.
 */
export function progressReporter() {
  // The last event that each call has reported: its next poll goes on after it.
  const reported = new BoundedMap<string, number>(MAX_CALLS);
  return function report({ watch, run, call: { id, onProgress } }: ReportProgressOptions): () => void {
    if (!onProgress) return () => {};
    let isEnded = false;
    const end = followEvents({
      watch,
      run,
      after: reported.get(id) ?? 0,
      onEvent({ kind, sequence, detail }) {
        if (isEnded) return;
        reported.set(id, sequence);
        // Sequences increase, and progress has to.
        if (kind === 'log') onProgress({ progress: sequence, message: `${detail.stepId}: ${detail.message}` });
      },
    });
    return () => {
      isEnded = true;
      void end();
    };
  };
}
