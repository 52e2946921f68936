import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../../core/call.ts';
import type { RunEvent, RunResult } from '../../core/records/run.ts';
import type { Runs } from '../../core/records/workflow-api.ts';
import type { RunProgress } from './show-progress.ts';

/** A run that a command follows. */
export interface FollowedRun {
  readonly id: string;
  readonly by: Caller;
  readonly runs: Pick<Runs, 'events' | 'get' | 'settled'>;
  readonly progress: RunProgress;
  /** Settles an approval that the run waits for: the user decides, or the command waits. Returns false if it is still pending. */
  readonly decide: (approval: string, signal: AbortSignal) => Promise<boolean>;
  /** Ends the following, not the run. */
  readonly signal: AbortSignal;
  /** Its cancellation was just requested, which may end what its history says that it waits for. */
  readonly isCancelling?: boolean | undefined;
  /** The time without events after which a run in doubt is left: a decision that was just made may not be in its history yet. */
  readonly quietMs?: number;
}

/** The reason why a run is no longer followed. */
export type FollowedEnd =
  | { readonly kind: 'ended'; readonly result: RunResult }
  | { readonly kind: 'in-doubt'; readonly paths: readonly string[] }
  | { readonly kind: 'approval'; readonly approval: string }
  | { readonly kind: 'left' };

// `onEvent` of `start` reports only runs that this command begins. Reading also follows runs of other processes.
const POLL_MS = 100;
const QUIET_MS = 1000;

/**
 * Shows the steps of a run until it ends, in whichever process. Returns before that if it needs a person whom this
 * command cannot ask, and when the signal aborts.
 */
export async function followRun(followed: FollowedRun): Promise<FollowedEnd> {
  const { id, by, runs, progress, signal } = followed;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const settled = runs.settled(by, id, either).then((result) => ({ kind: 'ended', result }) as const);
  settled.catch(() => {}); // Rejected by the abort at the end.
  const history = openHistory(followed);
  try {
    for (;;) {
      await history.read();
      const end =
        (await personNeeded(followed, history, either)) ??
        (await Promise.race([settled, sleep(POLL_MS, undefined, { signal: either })]));
      if (end?.kind === 'ended') await history.read();
      if (end) return end;
    }
  } catch (thrown) {
    if (signal.aborted) return { kind: 'left' };
    throw thrown;
  } finally {
    over.abort();
    progress.end();
  }
}

/** The persons that a run needs, as far as its history says. */
interface PersonsNeeded {
  /** By path: the approval that the step waits for. */
  readonly approvals: Map<string, string>;
  readonly doubts: Set<string>;
}

type RunHistory = ReturnType<typeof openHistory>;

/** Reads the history of a run piece by piece. */
function openHistory({ id, by, runs, progress }: FollowedRun) {
  const needs: PersonsNeeded = { approvals: new Map(), doubts: new Set() };
  let after: number | undefined;
  let changedAt = performance.now();
  return {
    needs,
    /** Returns the time since the last event. */
    quietFor: () => performance.now() - changedAt,
    async read(): Promise<void> {
      const events = await runs.events(by, id, after);
      after = events.at(-1)?.sequence ?? after;
      if (events.length > 0) changedAt = performance.now();
      for (const event of events) note(needs, event);
      progress.add(events);
    },
  };
}

function note({ approvals, doubts }: PersonsNeeded, { kind, path, detail }: RunEvent): void {
  if (kind === 'waiting' && typeof detail.approval === 'string') approvals.set(path, detail.approval);
  else if (kind === 'decided') approvals.delete(path);
  else if (kind === 'doubt') doubts.add(path);
  else if (kind === 'resolved') doubts.delete(path);
}

/** Lets the user decide on the approvals of a run that waits. Returns the end if it needs another person. */
async function personNeeded(
  followed: FollowedRun,
  { needs, quietFor }: RunHistory,
  signal: AbortSignal,
): Promise<FollowedEnd | undefined> {
  if (needs.approvals.size === 0 && needs.doubts.size === 0) return undefined;
  const { id, by, runs, decide, quietMs = QUIET_MS } = followed;
  const { status, doubts } = await runs.get(by, id);
  const paths = doubts.map(({ path }) => path);
  if (status === 'in_doubt') return quietFor() < quietMs ? undefined : { kind: 'in-doubt', paths };
  if (status !== 'waiting' || (followed.isCancelling && quietFor() < quietMs)) return undefined;
  for (const [path, approval] of needs.approvals) {
    if (!(await decide(approval, signal))) return { kind: 'approval', approval };
    needs.approvals.delete(path);
  }
  return undefined;
}
