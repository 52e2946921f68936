import { setImmediate } from 'node:timers/promises';
import type { Caller, Json } from '../../core/call.ts';
import { realTimer } from '../../core/time.ts';
import type { JournalEntry, RunFence, StoredRun } from '../../store/run-journal.ts';
import { type Durable, RunInterrupted, type RunStop, type Sleep } from '../run/durable.ts';
import type { RunParts } from '../run/run-parts.ts';
import { Activity } from './activity.ts';
import { approveOnce } from './approval-steps.ts';
import { runChildren, type TellParent, tellParent } from './children.ts';
import { runDoubts } from './doubts.ts';
import { runEvents } from './events.ts';
import { findIntents } from './find-intents.ts';
import { logKey, readHistory } from './history.ts';
import { runPauses } from './pauses.ts';
import type { RunContext } from './run-context.ts';
import { runWriter } from './run-writer.ts';
import { runSleeps } from './sleeps.ts';
import { callOnce } from './step-calls.ts';
import { orAborted } from './wait-for-person.ts';

/** The time for which a run may compute before others of the process go on. */
const MAX_TURN_MS = 10;

/** Operations of one execution of a run, over its journal. */
export interface JournalDurable
  extends Pick<RunContext, 'writer' | 'activity' | 'sleeps' | 'events' | 'doubts' | 'children'> {
  readonly durable: Durable;
  /** Records that the run is stopped, and aborts its steps. Only the first stop counts. */
  stop(stop: RunStop, by: string): void;
  /** Begins no more calls. */
  drain(): void;
  /** Aborts everything, and writes nothing more. */
  abandon(): void;
  /** Resolves when the run above knows whether this one waits for a person. */
  parentTold(): Promise<void>;
}

export interface JournalDurableOptions {
  readonly run: StoredRun;
  readonly fence: RunFence;
  readonly caller: Caller;
  readonly parts: RunParts;
  readonly entries: readonly JournalEntry[];
  /** No operation works; those that are open wait. */
  readonly onQuiet: () => void;
  /** The journal refuses the writes of this process. */
  readonly onLost: () => void;
  /** Rejects if the key of the caller was revoked. */
  readonly requireCaller: () => Promise<void>;
  /** The journal takes no more entries of the run, only its end. */
  readonly onFull: (stop: RunStop) => void;
}

/** Opens the operations of a run. Large recorded values are loaded first, since `recorded` returns them at once. */
export async function openDurable(options: JournalDurableOptions): Promise<JournalDurable> {
  const context = createContext(options);
  const { history, writer, activity, sleeps, events, doubts, children } = context;
  const values = new Map<string, Json>();
  for (const [path, value] of history.recorded) values.set(path, await writer.load(value));
  const { stopping } = context;
  if (history.stop) stopping.abort(history.stop);
  return {
    ...{ writer, activity, sleeps, events, doubts, children },
    parentTold: context.tell.told,
    durable: operations(context, values),
    stop(stop, by) {
      if (stopping.signal.aborted) return;
      writer.add('stopped', '', { by, stop });
      stopping.abort(stop);
    },
    drain: () => context.closing.abort(),
    abandon() {
      activity.interrupt();
      writer.close();
      sleeps.close();
      context.aborting.abort();
    },
  };
}

interface OwnContext extends RunContext {
  readonly stopping: AbortController;
  readonly closing: AbortController;
  readonly aborting: AbortController;
  readonly tell: TellParent;
}

function createContext(options: JournalDurableOptions): OwnContext {
  const { run, fence, caller, requireCaller, parts, entries, onQuiet, onLost } = options;
  const { journal, audit, clock = Date.now, timer = realTimer } = parts;
  const history = readHistory(entries);
  const [stopping, closing, aborting] = [new AbortController(), new AbortController(), new AbortController()];
  const tell = tellParent(run, journal, history.pauses.length === 0 ? false : undefined);
  let isRead = false;
  const pauses = runPauses((at) => {
    sleeps.update();
    if (isRead) tell(pauses.isOpen(''), at);
  });
  const sleeps = runSleeps({ clock, timer, pauses: () => pauses });
  for (const { path, at, isOpen } of history.pauses) isOpen ? pauses.open(path, at) : pauses.close(path, at);
  isRead = true;
  tell(pauses.isOpen(''), history.pauses.at(-1)?.at ?? 0);
  const activity = new Activity(onQuiet, onLost);
  const events = runEvents();
  const writer = runWriter({
    ...{ journal, fence, clock },
    ...{ lastSequence: history.lastSequence, events: history.events },
    onRefused: onLost,
    onLimit: () => stopping.abort(TOO_MANY_EVENTS),
    onFull() {
      activity.interrupt();
      options.onFull(TOO_MANY_EVENTS);
    },
  });
  const doubts = runDoubts({ history, writer, activity, pauses, events, clock });
  const children = runChildren({ history, writer, pauses });
  const wasSent = findIntents(audit, [...history.sent.values()], aborting.signal);
  return {
    ...{ run, fence, caller, parts, history, writer, activity, sleeps, pauses, events, doubts, wasSent, clock },
    ...{ requireCaller, children, tell },
    ...{ interrupted: aborting.signal, draining: closing.signal, onLost, stopping, closing, aborting },
  };
}

function operations(context: OwnContext, values: Map<string, Json>): Durable {
  const { history, writer, activity, clock, stopping } = context;
  let turnAt = performance.now();

  async function record<T extends Json>(path: string, make: () => T): Promise<T> {
    if (activity.isInterrupted) throw new RunInterrupted();
    if (values.has(path)) return values.get(path) as T;
    const value = make();
    values.set(path, value);
    writer.add('recorded', path, { value: writer.store(value) });
    return value;
  }

  return {
    call: (path, call) => callOnce(context, path, call),
    approve: (path, request, signal) => approveOnce(context, { path, request, signal }),
    sleep: (path, sleep) => slept(context, path, sleep),
    record,
    recorded: (path) => (history.fired.has(path) ? true : values.get(path)),
    now: (path) => record(path, clock),
    random: (path) => record(path, Math.random),
    store: async (value, overBytes) => writer.store(value, overBytes),
    load: async (value) => ('inline' in value ? value.inline : activity.operate(() => writer.load(value))),
    log(path, line) {
      const key = logKey(path, line.type);
      if (history.logged.has(key)) return;
      history.logged.add(key);
      writer.add('log', path, line);
    },
    hold: () => activity.begin(),
    async yieldTurn() {
      if (performance.now() - turnAt < MAX_TURN_MS) return;
      await activity.operate(() => setImmediate());
      turnAt = performance.now();
    },
    cancelled: stopping.signal,
  };
}

async function slept(context: RunContext, path: string, sleep: Sleep): Promise<'elapsed' | 'aborted'> {
  const { history, writer, activity, sleeps, clock } = context;
  const { until = 0, forMs, pausedBelow, signal } = sleep;
  if (history.fired.has(path)) return 'elapsed';
  if (signal.aborted) return 'aborted';
  const from = history.timers.get(path)?.from ?? clock();
  if (!history.timers.has(path)) writer.add('timer', path, { from, ...(forMs === undefined ? { until } : { forMs }) });
  return activity.operate(async () => {
    const sleeper = sleeps.start(forMs === undefined ? { until } : { from, forMs, pausedBelow });
    let isElapsed = false;
    const elapsed = sleeper.elapsed.then(() => {
      isElapsed = true;
    });
    await activity.wait(orAborted(elapsed, signal), sleeper.dueAt);
    sleeper.cancel();
    if (!isElapsed) return 'aborted';
    history.fired.add(path);
    writer.add('fired', path, {});
    return 'elapsed';
  });
}

const TOO_MANY_EVENTS: RunStop = {
  status: 'failed',
  error: {
    code: 'EVENTS_EXCEEDED',
    message: 'The run has 50000 events, the most that a run may have.',
    fix: 'Split the workflow: call it once for each part of the input.',
  },
};
