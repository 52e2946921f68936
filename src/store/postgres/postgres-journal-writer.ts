import type { PoolClient } from 'pg';
import { type RunFence, runLease } from '../run-journal.ts';
import type { JournalBatch } from '../runs/joined-writes.ts';
import { changeStatement, type EntryRow, isReported, type JournalRows } from '../runs/journal-rows.ts';
import { countRunChange } from '../runs/run-tables.ts';
import { StaleFences } from '../runs/stale-fences.ts';
import { SCHEMA } from './load-queries.ts';
import { numbered } from './postgres-statements.ts';

const HERE = { schema: SCHEMA };
const KEY_SHARE = `SELECT sha256 FROM ${SCHEMA}.run_values WHERE sha256 = ANY($1::text[]) ORDER BY sha256 FOR KEY SHARE`;

/** Writes the journal of runs in the transaction of a batch. Throws `StaleFences` if it has to go without some runs. */
export async function writeJournal(client: PoolClient, { fences, writes }: JournalBatch): Promise<void> {
  await checkFences(client, fences);
  await insertEntries(client, writes);
  await insertValues(client, writes);
  await changeRuns(client, writes);
}

/** The locks make a takeover wait until this transaction ends. */
async function checkFences(client: PoolClient, fences: readonly RunFence[]): Promise<void> {
  const { rows } = await client.query<{ name: string; epoch: number | string }>(
    `SELECT name, epoch FROM ${SCHEMA}.leases WHERE name = ANY($1::text[]) ORDER BY name FOR SHARE`,
    [fences.map(({ run }) => runLease(run))],
  );
  const current = new Map(rows.map(({ name, epoch }) => [name, Number(epoch)]));
  const stale = fences.filter(({ run, epoch }) => current.get(runLease(run)) !== epoch);
  if (stale.length > 0) throw new StaleFences(stale);
}

// A commit that was reported as failed may have been applied: an equal entry is no conflict.
const INSERT_ENTRIES = `INSERT INTO ${SCHEMA}.run_entries AS old (run, sequence, at, kind, path, detail)
  SELECT * FROM unnest($1::text[], $2::integer[], $3::double precision[], $4::text[], $5::text[], $6::text[])
  ON CONFLICT (run, sequence) DO UPDATE SET kind = excluded.kind
    WHERE old.at = excluded.at AND old.kind = excluded.kind AND old.path = excluded.path AND old.detail = excluded.detail
  RETURNING run, sequence`;

const keyOf = ({ run, sequence }: Pick<EntryRow, 'run' | 'sequence'>): string => `${sequence} ${run}`;

/** Returns the fences of writes with an entry that an earlier write has, too. */
function repeatedIn(writes: readonly JournalRows[]): readonly RunFence[] {
  const keys = new Set<string>();
  return writes.flatMap(({ fence, entries }) => {
    const isRepeated = entries.some((entry) => keys.has(keyOf(entry)));
    for (const entry of entries) keys.add(keyOf(entry));
    return isRepeated ? [fence] : [];
  });
}

async function insertEntries(client: PoolClient, writes: readonly JournalRows[]): Promise<void> {
  const entries = writes.flatMap((rows) => rows.entries);
  if (entries.length === 0) return;
  const columns = (['run', 'sequence', 'at', 'kind', 'path', 'detail'] as const).map((name) =>
    entries.map((entry) => entry[name]),
  );
  // Postgres refuses the whole statement if it has a number twice.
  if (new Set(entries.map(keyOf)).size < entries.length) throw new StaleFences(repeatedIn(writes));
  const { rows } = await client.query<Pick<EntryRow, 'run' | 'sequence'>>(INSERT_ENTRIES, columns);
  if (rows.length === entries.length) return;
  const inserted = new Set(rows.map(keyOf));
  const refused = writes.filter((write) => write.entries.some((entry) => !inserted.has(keyOf(entry))));
  throw new StaleFences(refused.map(({ fence }) => fence));
}

// `prune` must not remove a value between the lock and the commit.
async function insertValues(client: PoolClient, writes: readonly JournalRows[]): Promise<void> {
  const uses = writes.flatMap(({ fence, uses }) => uses.map((sha256) => ({ run: fence.run, sha256 })));
  if (uses.length === 0) return;
  const values = writes.flatMap((rows) => rows.values).toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
  await client.query(KEY_SHARE, [uses.map(({ sha256 }) => sha256)]);
  await client.query(
    `INSERT INTO ${SCHEMA}.run_values (sha256, json) SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING`,
    [values.map(({ sha256 }) => sha256), values.map(({ json }) => json)],
  );
  await client.query(
    `INSERT INTO ${SCHEMA}.run_value_uses (run, sha256) SELECT * FROM unnest($1::text[], $2::text[])
     ON CONFLICT DO NOTHING`,
    [uses.map(({ run }) => run), uses.map(({ sha256 }) => sha256)],
  );
}

async function changeRuns(client: PoolClient, writes: readonly JournalRows[]): Promise<void> {
  let isAnyReported = false;
  for (const { fence, change } of writes) {
    const statement = change && changeStatement(HERE, fence.run, change);
    if (!statement) continue;
    await client.query(numbered(statement));
    isAnyReported ||= isReported(change);
  }
  if (isAnyReported) await client.query(numbered(countRunChange(HERE)));
}
