import type { ServerContinuation } from '../../core/call.ts';
import type { RunError, RunResolution } from '../../core/records/run.ts';
import type { JournalEntry } from '../../store/run-journal.ts';
import type { ApprovalEnd, RunStop, StepEnd, StoredValue } from '../run/durable.ts';
import { type EntryDetails, type RunEntry, type SendPlace, toRunEntry } from './entries.ts';

/** A call that was begun and has no recorded end. */
export interface BegunCall extends SendPlace {
  readonly path: string;
  readonly callId: string;
  readonly tool: string;
  readonly at: number;
  readonly continuation?: ServerContinuation;
  /** The approval that it waits for, or has waited for. */
  readonly approval?: { readonly id: string; readonly isDecided: boolean };
  readonly isInDoubt?: boolean;
  readonly resolution?: Omit<RunResolution, 'path'>;
}

/** An approval step that was requested, or could not be. */
export interface RecordedApproval {
  readonly id?: string;
  readonly end?: ApprovalEnd;
  readonly refused?: RunError;
}

/** The recorded part of a run, by path. */
export interface History {
  /** By path and attempt. */
  readonly ends: Map<string, StepEnd>;
  /** The calls without an end, by path and attempt: the last time each was sent. */
  readonly sent: Map<string, BegunCall>;
  readonly recorded: Map<string, StoredValue>;
  readonly timers: Map<string, EntryDetails['timer']>;
  /** The paths of sleeps that have elapsed. */
  readonly fired: Set<string>;
  /** The approval steps. */
  readonly approvals: Map<string, RecordedApproval>;
  /** The path and type of log lines. */
  readonly logged: Set<string>;
  /** The begins and ends of waits for a person, in order. */
  readonly pauses: { readonly path: string; readonly at: number; readonly isOpen: boolean }[];
  stop?: RunStop;
  lastSequence: number;
  /** The number of entries, log lines not counted. */
  readonly events: number;
}

/** Returns the key of one attempt. */
export const attemptKey = (path: string, attempt: number): string => `${path}#${attempt}`;

/** Returns the key of a log line. */
export const logKey = (path: string, type: string): string => `${path}#${type}`;

/** Reads the entries of a run. */
export function readHistory(entries: readonly JournalEntry[]): History {
  const history: History = {
    ends: new Map(),
    sent: new Map(),
    recorded: new Map(),
    timers: new Map(),
    fired: new Set(),
    approvals: new Map(),
    logged: new Set(),
    pauses: [],
    lastSequence: entries.at(-1)?.sequence ?? 0,
    events: entries.filter(({ kind }) => kind !== 'log').length,
  };
  for (const entry of entries) readEntry(history, toRunEntry(entry));
  return history;
}

function readEntry(history: History, entry: RunEntry): void {
  const { kind, path, detail } = entry;
  if (kind === 'recorded') history.recorded.set(path, detail.value);
  else if (kind === 'timer') history.timers.set(path, detail);
  else if (kind === 'fired') history.fired.add(path);
  else if (kind === 'log') history.logged.add(logKey(path, detail.type));
  else if (kind === 'stopped') history.stop ??= detail.stop;
  else if (kind !== 'created' && kind !== 'ended') readCall(history, entry);
}

function readCall(history: History, entry: RunEntry): void {
  readPause(history, entry);
  const { kind, path, at, detail } = entry;
  if (kind === 'started') {
    const { attempt, send, callId, tool } = detail;
    const key = attemptKey(path, attempt);
    // A call that was never sent begins again, and keeps its approval.
    const before = history.sent.get(key);
    const approval = before?.send === send ? before.approval : undefined;
    history.sent.set(key, { path, attempt, send, callId, tool, at, ...(approval && { approval }) });
  } else if (kind === 'finished') {
    const key = attemptKey(path, detail.attempt);
    history.sent.delete(key);
    history.ends.set(key, detail.end);
  } else if (kind === 'continued') change(history, entry, { continuation: detail.continuation });
  else if (kind === 'doubt') change(history, entry, { isInDoubt: true });
  else if (kind === 'resolved') change(history, entry, { isInDoubt: false, resolution: detail });
  else if (kind === 'waiting' || kind === 'decided') readApproval(history, entry);
}

/** Reads the approval of a call, or of an approval step, which has no attempts. */
function readApproval(history: History, entry: Extract<RunEntry, { readonly kind: 'waiting' | 'decided' }>): void {
  const { path, detail } = entry;
  const { approval: id, attempt } = detail;
  const isDecided = entry.kind === 'decided';
  if (attempt !== undefined) {
    if (id !== undefined) change(history, entry, { approval: { id, isDecided } });
    return;
  }
  const { end, refused } = isDecided ? entry.detail : {};
  history.approvals.set(path, {
    ...(id !== undefined && { id }),
    ...(end && { end }),
    ...(refused && { refused }),
  });
}

function change(history: History, { path, detail }: RunEntry, facts: Partial<BegunCall>): void {
  const key = attemptKey(path, 'attempt' in detail ? (detail.attempt ?? 0) : 0);
  const found = history.sent.get(key);
  if (found) history.sent.set(key, { ...found, ...facts });
}

function readPause({ pauses }: History, { kind, path, at, detail }: RunEntry): void {
  if (kind === 'waiting') pauses.push({ path, at: detail.since ?? at, isOpen: true });
  else if (kind === 'doubt') pauses.push({ path, at, isOpen: true });
  else if (kind === 'decided') pauses.push({ path, at: detail.at, isOpen: false });
  else if (kind === 'resolved' || kind === 'finished') pauses.push({ path, at, isOpen: false });
}
