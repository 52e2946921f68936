import type { DatabaseSync } from 'node:sqlite';
import type { QueuedBatch, WriteBatch } from '../audit/write-queue.ts';
import type { SqliteJournalWriter } from './sqlite-journal-writer.ts';

/** Commits a batch with prepared statements in one transaction. */
export function sqliteWriter(db: DatabaseSync, lockWaitMs: number): WriteBatch {
  const insertRecord = db.prepare(
    `INSERT INTO audit (segment, sequence, hash, link, call_id, phase, at, caller, via, name, detail)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertSpan = db.prepare(
    `INSERT INTO spans (trace_id, span_id, parent_id, name, server, started_at, duration_ms, outcome, attributes, agent)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  let failing = false;
  let journalWriter: SqliteJournalWriter | undefined;

  const write = ({ records, spans, journal }: QueuedBatch) => {
    begin.run();
    if (journal) journalWriter?.write(journal);
    for (const row of records) {
      const { segment, sequence, hash, link, call_id, phase, at, caller, via, name, detail } = row;
      insertRecord.run(segment, sequence, hash, link, call_id, phase, at, caller, via, name, detail);
    }
    for (const row of spans) {
      const { trace_id, span_id, parent_id, name, server, started_at, duration_ms, outcome, attributes, agent } = row;
      insertSpan.run(trace_id, span_id, parent_id, name, server, started_at, duration_ms, outcome, attributes, agent);
    }
    commit.run();
  };

  // Waiting for the lock blocks the process. After one failed wait the next attempts do not wait, so that reads go on.
  function setFailing(now: boolean): void {
    if (now === failing) return;
    failing = now;
    db.exec(`PRAGMA busy_timeout = ${now ? 0 : lockWaitMs}`);
  }

  function attempt(batch: QueuedBatch): void {
    try {
      write(batch);
      setFailing(false);
    } catch (cause) {
      if (db.isTransaction) db.exec('ROLLBACK');
      setFailing(!journalWriter?.isRefusal(cause));
      throw cause;
    }
  }

  async function loadAndAttempt(batch: QueuedBatch): Promise<void> {
    const { sqliteJournalWriter } = await import('./sqlite-journal-writer.ts');
    journalWriter = sqliteJournalWriter(db);
    attempt(batch);
  }

  return (batch) => (batch.journal && !journalWriter ? loadAndAttempt(batch) : attempt(batch));
}
