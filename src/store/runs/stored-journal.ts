import { parseExact } from '../../core/exact-numbers.ts';
import type { Clock } from '../../core/time.ts';
import type { ChangeWatch } from '../change-watch.ts';
import { storable } from '../rows.ts';
import { originText, type RunJournal, type RunSignal } from '../run-journal.ts';
import { type SqlStatement, type Statements, sql } from '../statements.ts';
import type { JournalQueue } from './journal-queue.ts';
import { isReported, toEntryRows, toJournalRows, usesOf } from './journal-rows.ts';
import { pruneRuns } from './prune-runs.ts';
import { runQueries } from './run-queries.ts';
import { RUN_COLUMNS, toRunRow } from './run-row.ts';
import { countRunChange, runTable, valuesIn } from './run-tables.ts';

export interface StoredJournalOptions {
  readonly statements: Statements;
  readonly queue: JournalQueue;
  readonly watch: ChangeWatch;
  readonly clock: Clock;
}

/** The history of runs in the tables `runs` and `run_*`. */
export function storedJournal(options: StoredJournalOptions): RunJournal {
  const { statements, queue, watch, clock } = options;
  const queries = runQueries(statements);
  return {
    ...queries,
    async create(run, values, entries) {
      try {
        await statements.write(createStatements(statements, run, { values, entries }));
      } catch (cause) {
        const isTaken =
          (await queries.get(run.id)) ??
          (run.callId === undefined ? undefined : await queries.ofCall(run.caller.id, run.callId));
        if (isTaken) return false;
        throw cause;
      }
      watch.changedHere(run.id);
      return true;
    },
    async value(sha256) {
      const table = runTable(statements, 'run_values');
      const [row] = await statements.read(sql`SELECT json FROM ${table} WHERE sha256 = ${storable(sha256)}`);
      return row && parseExact(String(row.json));
    },
    // Not async: once this returns, the write is queued before any later record.
    append(write, urgency) {
      try {
        const appended = queue.append(toJournalRows(write), urgency);
        return write.change && isReported(write.change)
          ? appended.then(() => watch.changedHere(write.fence.run))
          : appended;
      } catch (cause) {
        return Promise.reject(cause);
      }
    },
    ready: () => queue.ready(),
    async signal(run, signal) {
      const [added = []] = await statements.write(
        signalStatements(statements, storable(run), { ...signal, at: clock() }),
      );
      if (added.length > 0) watch.changedHere(run);
      return added.length > 0;
    },
    async leave(run, call) {
      const runs = runTable(statements, 'runs');
      await statements.write([sql`UPDATE ${runs} SET left_call = ${call ?? null} WHERE id = ${storable(run)}`]);
    },
    async moveTo(run, origin) {
      const runs = runTable(statements, 'runs');
      await statements.write([sql`UPDATE ${runs} SET origin = ${originText(origin)} WHERE id = ${storable(run)}`]);
    },
    watch: (onChange) => watch.add(onChange),
    prune: (before) => pruneRuns(statements, before),
  };
}

type NewRun = Parameters<RunJournal['create']>;

function createStatements(
  statements: Statements,
  run: NewRun[0],
  { values, entries }: { readonly values: NewRun[1]; readonly entries: NewRun[2] },
): readonly SqlStatement[] {
  const row = toRunRow(run);
  const rows = toEntryRows(row.id, entries);
  const uses = usesOf(rows, [row.digest, row.input, ...values.map(({ sha256 }) => sha256)]);
  const table = (name: Parameters<typeof runTable>[1]) => runTable(statements, name);
  return [
    sql`INSERT INTO ${table('runs')} (${RUN_COLUMNS}, due_at, signal_last)
      VALUES (${row.id}, ${row.workflow}, ${row.digest}, ${row.interpreter}, ${row.status}, ${row.caller},
        ${row.call_id}, ${row.parent}, ${row.started_at}, ${row.ended_at}, ${row.wake_at}, ${row.error}, ${row.input},
        ${row.output}, ${row.signal_seen}, ${row.facts}, ${row.left_call}, ${row.origin}, 0, ${row.signal_seen})`,
    // `prune` must not remove a value between here and the commit.
    sql`SELECT sha256 FROM ${table('run_values')} WHERE sha256 IN ${valuesIn(uses)} ORDER BY sha256 ${{ raw: statements.lock('KEY SHARE') }}`,
    ...values.map(
      ({ sha256, json }) =>
        sql`INSERT INTO ${table('run_values')} (sha256, json) VALUES (${sha256}, ${json}) ON CONFLICT DO NOTHING`,
    ),
    ...uses.map((sha256) => sql`INSERT INTO ${table('run_value_uses')} (run, sha256) VALUES (${row.id}, ${sha256})`),
    ...rows.map(
      ({ sequence, at, kind, path, detail }) =>
        sql`INSERT INTO ${table('run_entries')} (run, sequence, at, kind, path, detail)
          VALUES (${row.id}, ${sequence}, ${at}, ${kind}, ${path}, ${detail})`,
    ),
    ...(run.detached ? [countRunChange(statements)] : []),
  ];
}

/** The first statement numbers the signal, locks the run, and returns a row if the run is open. */
function signalStatements(
  statements: Statements,
  run: string,
  { at, kind, by, detail }: Omit<RunSignal, 'id'>,
): readonly SqlStatement[] {
  const runs = runTable(statements, 'runs');
  return [
    sql`UPDATE ${runs} SET signal_last = signal_last + 1, due_at = 0
      WHERE id = ${run} AND ended_at IS NULL RETURNING signal_last`,
    sql`INSERT INTO ${runTable(statements, 'run_signals')} (run, id, at, kind, caller, detail)
      SELECT id, signal_last, CAST(${at} AS DOUBLE PRECISION), CAST(${storable(kind)} AS TEXT),
        CAST(${storable(by)} AS TEXT), CAST(${JSON.stringify(detail)} AS TEXT)
      FROM ${runs} WHERE id = ${run} AND ended_at IS NULL`,
    countRunChange(statements),
  ];
}
