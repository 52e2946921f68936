import type { RunError, RunOrigin, RunStatus } from '../../core/records/run.ts';
import { storable } from '../rows.ts';
import { originText, type StoredRun } from '../run-journal.ts';
import type { SqlRow } from '../statements.ts';

/** A row of the table `runs`. */
export interface RunRow extends SqlRow {
  readonly id: string;
  readonly workflow: string;
  readonly digest: string;
  readonly interpreter: number;
  readonly status: RunStatus;
  readonly caller: string;
  readonly call_id: string | null;
  readonly parent: string | null;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly wake_at: number | null;
  readonly error: string | null;
  readonly input: string;
  readonly output: string | null;
  readonly signal_seen: number;
  readonly left_call: string | null;
  /** JSON of the origin. Equal origins have equal texts. */
  readonly origin: string | null;
  /** JSON of all other fields. */
  readonly facts: string;
}

type Facts = Pick<StoredRun, 'caller' | 'parent' | 'depth' | 'retryOf' | 'timeoutAt' | 'traceparent' | 'detached'>;

const COLUMNS = [
  ...['id', 'workflow', 'digest', 'interpreter', 'status', 'caller', 'call_id', 'parent', 'started_at', 'ended_at'],
  ...['wake_at', 'error', 'input', 'output', 'signal_seen', 'facts', 'left_call', 'origin'],
];
export const RUN_COLUMNS = { raw: COLUMNS.join(', ') };

/** Converts a run to its row. Null characters and lone surrogates in its names are replaced. */
export function toRunRow(run: StoredRun): RunRow {
  const { caller, parent, depth, retryOf, timeoutAt, traceparent, detached } = run;
  const facts: Facts = {
    ...{ caller, depth },
    ...(parent && { parent }),
    ...(retryOf && { retryOf }),
    ...(timeoutAt !== undefined && { timeoutAt }),
    ...(traceparent !== undefined && { traceparent }),
    ...(detached && { detached }),
  };
  return {
    id: storable(run.id),
    workflow: storable(run.workflow),
    digest: run.digest,
    interpreter: run.interpreter,
    status: run.status,
    caller: storable(caller.id),
    call_id: run.callId === undefined ? null : storable(run.callId),
    parent: parent ? storable(parent.run) : null,
    started_at: run.startedAt,
    ended_at: run.endedAt ?? null,
    wake_at: run.wakeAt ?? null,
    error: run.error ? JSON.stringify(run.error) : null,
    input: run.input,
    output: run.output ?? null,
    signal_seen: run.signalSeen,
    left_call: run.left ?? null,
    origin: run.origin ? originText(run.origin) : null,
    facts: JSON.stringify(facts),
  };
}

/** Converts a row back. Its JSON was written by `toRunRow`. */
export function fromRunRow(row: RunRow): StoredRun {
  const { call_id: callId, ended_at: endedAt, wake_at: wakeAt, error, output, left_call: left, origin } = row;
  return {
    ...(JSON.parse(row.facts) as Facts),
    id: row.id,
    workflow: row.workflow,
    digest: row.digest,
    interpreter: row.interpreter,
    status: row.status,
    startedAt: row.started_at,
    ...(endedAt !== null && { endedAt }),
    ...(wakeAt !== null && { wakeAt }),
    ...(error !== null && { error: JSON.parse(error) as RunError }),
    input: row.input,
    ...(output !== null && { output }),
    signalSeen: row.signal_seen,
    ...(callId !== null && { callId }),
    ...(left !== null && { left }),
    ...(origin !== null && { origin: JSON.parse(origin) as RunOrigin }),
  };
}

export const toRuns = (rows: readonly SqlRow[]): StoredRun[] => rows.map((row) => fromRunRow(row as RunRow));
