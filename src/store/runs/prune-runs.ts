import { runLease } from '../run-journal.ts';
import { type Statements, sql } from '../statements.ts';
import { runTable, valuesIn } from './run-tables.ts';

/** The number of runs that one transaction removes. Other writers of a SQLite file wait for it. */
const RUNS_AT_ONCE = 50;

/** Removes runs that ended before a time, with the values that no other run uses. Returns their number. */
export async function pruneRuns(statements: Statements, before: number): Promise<number> {
  let removed = 0;
  for (;;) {
    const rows = await statements.read(
      sql`SELECT id FROM ${runTable(statements, 'runs')} WHERE ended_at < ${before} ORDER BY ended_at
        LIMIT ${{ raw: String(RUNS_AT_ONCE) }}`,
    );
    if (rows.length === 0) return removed;
    removed += await removeRuns(
      statements,
      rows.map(({ id }) => String(id)),
    );
  }
}

async function removeRuns(statements: Statements, ids: readonly string[]): Promise<number> {
  const table = (name: Parameters<typeof runTable>[1]) => runTable(statements, name);
  const uses = table('run_value_uses');
  const used = await statements.read(sql`SELECT DISTINCT sha256 FROM ${uses} WHERE run IN ${valuesIn(ids)}`);
  const digests = used.map(({ sha256 }) => String(sha256));
  const values = table('run_values');
  const [runs = []] = await statements.write([
    sql`DELETE FROM ${table('runs')} WHERE id IN ${valuesIn(ids)} RETURNING id`,
    sql`DELETE FROM ${table('run_entries')} WHERE run IN ${valuesIn(ids)}`,
    sql`DELETE FROM ${table('run_signals')} WHERE run IN ${valuesIn(ids)}`,
    sql`DELETE FROM ${table('leases')} WHERE name IN ${valuesIn(ids.map(runLease))}`,
    sql`DELETE FROM ${uses} WHERE run IN ${valuesIn(ids)}`,
    // A run that is created now has locked the values that it uses; the next statement then sees that.
    sql`SELECT sha256 FROM ${values} WHERE sha256 IN ${valuesIn(digests)} ORDER BY sha256
      ${{ raw: statements.lock('UPDATE') }}`,
    sql`DELETE FROM ${values} WHERE sha256 IN ${valuesIn(digests)}
      AND NOT EXISTS (SELECT 1 FROM ${uses} AS other WHERE other.sha256 = ${{ raw: `${values.raw}.sha256` }})`,
  ]);
  return runs.length;
}
