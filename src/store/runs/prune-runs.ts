import { setImmediate as nextTurn } from 'node:timers/promises';
import { runLease } from '../run-journal.ts';
import { type Statements, sql } from '../statements.ts';
import { runTable, valuesIn } from './run-tables.ts';

// The most rows of one transaction. Other calls go on between two.
const RUNS_AT_ONCE = 50;
const VALUES_AT_ONCE = 50;
const ENTRIES_AT_ONCE = 2_000;

/** Removes runs that ended before a time, with the values that no other run uses. Returns their number. */
export async function pruneRuns(statements: Statements, before: number): Promise<number> {
  let removed = 0;
  for (;;) {
    const rows = await statements.read(
      sql`SELECT id FROM ${runTable(statements, 'runs')} WHERE ended_at < ${before} ORDER BY ended_at
        LIMIT ${{ raw: String(RUNS_AT_ONCE) }}`,
    );
    if (rows.length === 0) return removed;
    const ids = rows.map(({ id }) => String(id));
    for (const id of ids) await removeMostEntries(statements, id);
    removed += await removeRuns(statements, ids);
    await nextTurn();
  }
}

/** Leaves at most as many entries of a run as one transaction removes. */
async function removeMostEntries(statements: Statements, run: string): Promise<void> {
  const entries = runTable(statements, 'run_entries');
  const [row] = await statements.read(sql`SELECT max(sequence) AS last FROM ${entries} WHERE run = ${run}`);
  for (let end = ENTRIES_AT_ONCE; end < Number(row?.last ?? 0); end += ENTRIES_AT_ONCE) {
    await statements.write([sql`DELETE FROM ${entries} WHERE run = ${run} AND sequence <= ${end}`]);
    await nextTurn();
  }
}

/** The row of a run is removed last, so that a prune that was ended is completed by the next one. */
async function removeRuns(statements: Statements, ids: readonly string[]): Promise<number> {
  const table = (name: Parameters<typeof runTable>[1]) => runTable(statements, name);
  const used = await statements.read(
    sql`SELECT DISTINCT sha256 FROM ${table('run_value_uses')} WHERE run IN ${valuesIn(ids)}`,
  );
  const digests = used.map(({ sha256 }) => String(sha256));
  for (let at = 0; at < digests.length; at += VALUES_AT_ONCE)
    await removeValues(statements, ids, digests.slice(at, at + VALUES_AT_ONCE));
  const [runs = []] = await statements.write([
    sql`DELETE FROM ${table('runs')} WHERE id IN ${valuesIn(ids)} RETURNING id`,
    sql`DELETE FROM ${table('run_entries')} WHERE run IN ${valuesIn(ids)}`,
    sql`DELETE FROM ${table('run_signals')} WHERE run IN ${valuesIn(ids)}`,
    sql`DELETE FROM ${table('leases')} WHERE name IN ${valuesIn(ids.map(runLease))}`,
  ]);
  return runs.length;
}

/** Removes the uses of some values by runs, and those values that no other run uses. */
async function removeValues(statements: Statements, ids: readonly string[], digests: readonly string[]): Promise<void> {
  const values = runTable(statements, 'run_values');
  const uses = runTable(statements, 'run_value_uses');
  await statements.write([
    sql`DELETE FROM ${uses} WHERE run IN ${valuesIn(ids)} AND sha256 IN ${valuesIn(digests)}`,
    // A run that is written now has locked the values that it uses; the next statement then sees that.
    sql`SELECT sha256 FROM ${values} WHERE sha256 IN ${valuesIn(digests)} ORDER BY sha256
      ${{ raw: statements.lock('UPDATE') }}`,
    sql`DELETE FROM ${values} WHERE sha256 IN ${valuesIn(digests)}
      AND NOT EXISTS (SELECT 1 FROM ${uses} AS other WHERE other.sha256 = ${{ raw: `${values.raw}.sha256` }})`,
  ]);
  await nextTurn();
}
