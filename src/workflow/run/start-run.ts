import { hash } from 'node:crypto';
import { newCallId } from '../../core/call/call-id.ts';
import type { Caller, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { canonicalJson } from '../../core/json.ts';
import type { RunOrigin } from '../../core/records/run.ts';
import type { Clock } from '../../core/time.ts';
import type { JournalEntry, JournalValue, RunJournal, StoredRun } from '../../store/run-journal.ts';
import type { Workflow } from '../definition/canonical.ts';
import { type EntryDetails, INTERPRETER, toDetail } from '../journal/entries.ts';

/** The most runs above a run. It stops cycles that the definitions do not show. */
const MAX_DEPTH = 8;

export interface NewRun {
  readonly workflow: Workflow;
  readonly input: JsonObject;
  readonly caller: Caller;
  /** The id of the call that begins the run. A repeated call finds it. */
  readonly callId?: string;
  readonly parent?: { readonly run: string; readonly path: string };
  /** The longest time of the run. With a parent the timeout of its step holds instead. */
  readonly timeoutMs?: number;
  readonly detached?: boolean;
  readonly traceparent?: string;
  /** The configuration of this process. A run with a parent has that of its parent. */
  readonly origin?: RunOrigin;
  /** The workflows that its steps may call, by name: their digests are pinned. */
  readonly subWorkflows?: Readonly<Record<string, Workflow>>;
}

interface StartParts {
  readonly journal: RunJournal;
  readonly clock?: Clock;
}

/** Stores a new run. Returns the run of the same caller and call id if there is one. Nothing is executed. */
export async function startRun({ journal, clock = Date.now }: StartParts, wanted: NewRun): Promise<StoredRun> {
  const { workflow, input, caller, callId, parent, timeoutMs, detached, traceparent, subWorkflows = {} } = wanted;
  const now = clock();
  const above = parent && (await journal.get(parent.run));
  const origin = above ? above.origin : wanted.origin;
  const definition = definitionValue(workflow);
  const inputValue = toValue(JSON.stringify(input));
  const pinned = Object.entries(subWorkflows).map(([name, one]) => [name, definitionValue(one)] as const);
  const run: StoredRun = {
    id: newCallId(() => now),
    workflow: workflow.name,
    digest: definition.sha256,
    interpreter: INTERPRETER,
    status: 'running',
    caller: toRunCaller(caller),
    depth: parent ? depthBelow(above?.depth ?? 0) : 0,
    startedAt: now,
    input: inputValue.sha256,
    signalSeen: 0,
    ...(parent && { parent }),
    ...(callId !== undefined && { callId }),
    ...(timeoutMs !== undefined && !parent && { timeoutAt: now + timeoutMs }),
    ...(detached && { detached: true }),
    ...(traceparent !== undefined && { traceparent }),
    ...(origin && { origin }),
  };
  const created = firstEntry(now, pinned.length === 0 ? {} : { pinned: pinsOf(pinned) });
  const values = unique([definition, inputValue, ...pinned.map(([, value]) => value)]);
  if (await journal.create(run, values, [created])) return run;
  const found = callId === undefined ? undefined : await journal.ofCall(caller.id, callId);
  if (found) return found;
  throw new HeddleError('INTERNAL', `The run ${run.id} could not be stored.`);
}

/** Returns a definition as the journal stores it. Its digest is that of the text. */
export const definitionValue = (workflow: Workflow): JournalValue =>
  toValue(canonicalJson(workflow as unknown as JsonObject));

const toValue = (json: string): JournalValue => ({ sha256: hash('sha256', json), json });

const pinsOf = (pinned: readonly (readonly [string, JournalValue])[]): Record<string, string> =>
  Object.fromEntries(pinned.map(([name, { sha256 }]) => [name, sha256]));

/** Returns the first entry of a run. */
export const firstEntry = (at: number, detail: EntryDetails['created']): JournalEntry => ({
  sequence: 1,
  at,
  kind: 'created',
  path: '',
  detail: toDetail<'created'>(detail),
});

const unique = (values: readonly JournalValue[]): readonly JournalValue[] => [
  ...new Map(values.map((value) => [value.sha256, value])).values(),
];

/** Returns the depth of a run below one of this depth. Throws RUN_FAILED if it is too deep. */
function depthBelow(above: number): number {
  const depth = above + 1;
  if (depth < MAX_DEPTH) return depth;
  throw new HeddleError('RUN_FAILED', `${MAX_DEPTH} workflows call one another, the most that may: one calls itself.`, {
    fix: 'Remove the cycle of `workflow` steps.',
  });
}

/** Returns the facts of a caller that a run keeps. */
export const toRunCaller = ({ id, roles, via, profile, agent }: Caller): StoredRun['caller'] => ({
  ...{ id, roles, via },
  ...(profile !== undefined && { profile }),
  ...(agent !== undefined && { agent }),
});
