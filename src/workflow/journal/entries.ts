import type { Json, JsonObject, ServerContinuation } from '../../core/call.ts';
import type { RunError, RunResolution, RunStatus } from '../../core/records/run.ts';
import type { JournalEntry } from '../../store/run-journal.ts';
import type { ApprovalEnd, RunStop, StepEnd, StepLog, StoredValue } from '../run/durable.ts';

/** The version of the interpreter and of these entries. A run that a newer one has begun is not touched. */
export const INTERPRETER = 2;

/** Names one call of a step: its attempt, and how often it was sent. */
export interface SendPlace {
  readonly attempt: number;
  readonly send: number;
}

/** The details of entries by kind. */
export interface EntryDetails {
  /** The first entry of a run. */
  created: {
    /** The digests of the workflows that its steps call, by name. */
    readonly pinned?: Readonly<Record<string, string>>;
  };
  /** A call begins. Committed no later than its intent. */
  started: SendPlace & { readonly callId: string; readonly tool: string };
  /** The server goes on with the call, as a task or after a response. */
  continued: SendPlace & { readonly continuation: ServerContinuation };
  /** A call or an approval step waits for a person; with `child`, in the run that the call began, since the time `since`. */
  waiting: Partial<SendPlace> & { readonly approval?: string; readonly child?: string; readonly since?: number };
  /** A wait for a person is over, since the time `at`. */
  decided: Partial<SendPlace> & {
    readonly approval?: string;
    readonly at: number;
    readonly end?: ApprovalEnd;
    /** The approval could not be requested. */
    readonly refused?: RunError;
  };
  /** It is unknown whether the call happened; a person has to decide. */
  doubt: SendPlace & { readonly callId: string; readonly tool: string };
  resolved: SendPlace & Omit<RunResolution, 'path'> & { readonly by: string };
  finished: { readonly attempt: number; readonly end: StepEnd };
  recorded: { readonly value: StoredValue };
  /** A sleep begins. */
  timer: { readonly from: number; readonly forMs?: number; readonly until?: number };
  fired: Record<string, never>;
  log: StepLog;
  stopped: { readonly by: string; readonly stop: RunStop };
  ended: { readonly status: RunStatus; readonly stepsExecuted: number; readonly error?: RunError };
}

export type EntryKind = keyof EntryDetails;

/** An entry with the details of its kind. */
export type RunEntry = {
  [K in EntryKind]: Omit<JournalEntry, 'kind' | 'detail'> & { readonly kind: K; readonly detail: EntryDetails[K] };
}[EntryKind];

/** Converts a stored entry. The journal has only entries of this and older interpreters. */
export const toRunEntry = (entry: JournalEntry): RunEntry => entry as unknown as RunEntry;

/** Converts the details of an entry to JSON. */
export const toDetail = <K extends EntryKind>(detail: EntryDetails[K]): JsonObject =>
  detail as unknown as JsonObject satisfies Json;
