import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type RunFence, runLease } from '../run-journal.ts';
import type { JournalBatch } from '../runs/joined-writes.ts';
import { changeStatement, isReported, type JournalRows } from '../runs/journal-rows.ts';
import { countRunChange } from '../runs/run-tables.ts';
import { StaleFences } from '../runs/stale-fences.ts';

const MAIN = { schema: 'main' };

/** Writes the journal of runs in the transaction of a batch. */
export interface SqliteJournalWriter {
  /** Throws `StaleFences` if the batch has to be written without some runs. */
  write(batch: JournalBatch): void;
  isRefusal(cause: unknown): boolean;
}

export function sqliteJournalWriter(db: DatabaseSync): SqliteJournalWriter {
  const findLease = db.prepare('SELECT 1 FROM leases WHERE name = ? AND epoch = ?');
  // A commit that was reported as failed may have been applied: an equal entry is no conflict.
  const insertEntry = db.prepare(
    `INSERT INTO run_entries (run, sequence, at, kind, path, detail) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (run, sequence) DO UPDATE SET kind = excluded.kind
       WHERE at = excluded.at AND kind = excluded.kind AND path = excluded.path AND detail = excluded.detail`,
  );
  const insertValue = db.prepare('INSERT INTO run_values (sha256, json) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const insertUse = db.prepare('INSERT INTO run_value_uses (run, sha256) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const countChange = db.prepare(countRunChange(MAIN).sql);
  const changes = new Map<string, StatementSync>();

  function change({ fence, change }: JournalRows): boolean {
    const statement = change && changeStatement(MAIN, fence.run, change);
    if (!statement) return false;
    const prepared = changes.get(statement.sql) ?? db.prepare(statement.sql);
    changes.set(statement.sql, prepared);
    prepared.run(...statement.values);
    return isReported(change);
  }

  function insert({ fence, entries, values, uses }: JournalRows): void {
    for (const { run, sequence, at, kind, path, detail } of entries)
      if (Number(insertEntry.run(run, sequence, at, kind, path, detail).changes) === 0) throw new StaleFences([fence]);
    for (const { sha256, json } of values) insertValue.run(sha256, json);
    for (const sha256 of uses) insertUse.run(fence.run, sha256);
  }

  return {
    write({ fences, writes }) {
      const isStale = ({ run, epoch }: RunFence) => findLease.get(runLease(run), epoch) === undefined;
      const stale = fences.filter(isStale);
      if (stale.length > 0) throw new StaleFences(stale);
      for (const rows of writes) insert(rows);
      if (writes.map(change).includes(true)) countChange.run();
    },
    isRefusal: (cause) => cause instanceof StaleFences,
  };
}
