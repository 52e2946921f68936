import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
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
  | { readonly kind: 'in-doubt'; readonly run: string; readonly paths: readonly string[] }
  | { readonly kind: 'approval'; readonly approval: string }
  | { readonly kind: 'left' };

// `onEvent` of `start` reports only runs that this command begins. Reading also follows runs of other processes.
const POLL_MS = 100;
const QUIET_MS = 1000;
/** The name of the built-in server whose tasks are runs. */
const WORKFLOW_SERVER = 'workflow';

/**
 * Shows the steps of a run and of the runs below it until it ends. Any process may execute it. Returns before that if it
 * needs a person whom this command cannot ask, and when the signal aborts.
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

/** A run whose history is read: the followed one, or a run that a step of another one began. */
interface ReadRun {
  readonly id: string;
  /** Put before the paths of its steps: `sub/` for the run of the step `sub`. */
  readonly prefix: string;
  /** The sequence of the last event that was read. */
  after?: number | undefined;
  hasEnded?: true;
  /** By path: the approval that the step waits for. */
  readonly approvals: Map<string, string>;
  readonly doubts: Set<string>;
}

/** An event with the prefix of its path. */
interface ShownEvent {
  readonly event: RunEvent;
  readonly prefix: string;
}

type RunHistory = ReturnType<typeof openHistory>;

/** Reads the history of a run and of the runs below it piece by piece. */
function openHistory({ id: root, by, runs, progress }: FollowedRun) {
  const known = new Map<string, ReadRun>();
  let changedAt = performance.now();

  function begin(id: string, prefix: string): void {
    if (!known.has(id)) known.set(id, { id, prefix, approvals: new Map(), doubts: new Set() });
  }

  async function readOne(run: ReadRun): Promise<readonly ShownEvent[]> {
    const events = await runs.events(by, run.id, run.after);
    run.after = events.at(-1)?.sequence ?? run.after;
    for (const event of events) {
      note(run, event);
      const child = childOf(event);
      if (child !== undefined) begin(child, `${run.prefix}${event.path}/`);
    }
    return events.map((event) => ({ event, prefix: run.prefix }));
  }

  begin(root, '');
  return {
    /** Returns the runs that have not ended, as far as their histories say. */
    open: () => [...known.values()].filter(({ hasEnded }) => !hasEnded),
    /** Returns the time since the last event. */
    quietFor: () => performance.now() - changedAt,
    async read(): Promise<void> {
      const found: ShownEvent[] = [];
      // Runs that are found meanwhile are read, too.
      for (const run of known.values()) {
        if (run.hasEnded) continue;
        const events = await readOne(run).catch((thrown): readonly ShownEvent[] => {
          // A run below it may have ended so long ago that it was removed.
          if (run.id === root || HeddleError.from(thrown).code !== 'NAME_UNKNOWN') throw thrown;
          run.hasEnded = true;
          return [];
        });
        found.push(...events);
      }
      if (found.length > 0) changedAt = performance.now();
      // A step ends after the steps of its run, which may have the same time.
      const ordered = found.sort(
        (one, other) => one.event.at - other.event.at || other.prefix.length - one.prefix.length,
      );
      for (const { event, prefix } of ordered) progress.add([event], prefix);
    },
  };
}

/** Returns the run that a step began, if the event names it. */
function childOf({ kind, detail: { child, continuation } }: RunEvent): string | undefined {
  if (kind === 'waiting' && typeof child === 'string') return child;
  if (kind !== 'continued' || !isObject(continuation) || continuation.server !== WORKFLOW_SERVER) return undefined;
  return String(continuation.taskId);
}

function note(run: ReadRun, { kind, path, detail }: RunEvent): void {
  const { approvals, doubts } = run;
  if (kind === 'ended') run.hasEnded = true;
  else if (kind === 'waiting' && typeof detail.approval === 'string') approvals.set(path, detail.approval);
  else if (kind === 'decided') approvals.delete(path);
  else if (kind === 'doubt') doubts.add(path);
  else if (kind === 'resolved') doubts.delete(path);
}

/** Lets the user decide on the approvals once all runs wait. Returns the end if another person is needed. */
async function personNeeded(
  followed: FollowedRun,
  { open, quietFor }: RunHistory,
  signal: AbortSignal,
): Promise<FollowedEnd | undefined> {
  const opened = open();
  if (opened.every(({ approvals, doubts }) => approvals.size === 0 && doubts.size === 0)) return undefined;
  const { by, runs, isCancelling, quietMs = QUIET_MS } = followed;
  let inDoubt: FollowedEnd | undefined;
  for (const { id } of opened) {
    const { status, doubts } = await runs.get(by, id);
    if (status === 'in_doubt') inDoubt ??= { kind: 'in-doubt', run: id, paths: doubts.map(({ path }) => path) };
    else if (status !== 'waiting') return undefined;
  }
  if ((inDoubt || isCancelling) && quietFor() < quietMs) return undefined;
  return inDoubt ?? decideAll(followed, opened, signal);
}

/** Lets the user decide on each approval. Returns the end at the first one that stays pending. */
async function decideAll(
  { decide }: FollowedRun,
  opened: readonly ReadRun[],
  signal: AbortSignal,
): Promise<FollowedEnd | undefined> {
  for (const { approvals } of opened) {
    for (const [path, approval] of approvals) {
      if (!(await decide(approval, signal))) return { kind: 'approval', approval };
      approvals.delete(path);
    }
  }
  return undefined;
}
