import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { migrateSqlite } from './migrate-sqlite.ts';
import { sqliteWriter } from './sqlite-writer.ts';

it('waits for the lock, but not after a failed wait', async () => {
  const db = new DatabaseSync(':memory:', { timeout: 1_234 });
  migrateSqlite(db, ':memory:');
  const write = sqliteWriter(db, 1_234);
  const lockWaitMs = () => db.prepare('PRAGMA busy_timeout').get()?.timeout;
  const row = { segment: 's', sequence: 1, hash: 'h', link: null, call_id: 'c', phase: 'intent', at: 1 } as const;
  const batch = { records: [{ ...row, caller: 'a', via: 'cli', name: 'n', detail: '{}' }], spans: [] };
  await write(batch);
  expect(lockWaitMs()).toBe(1_234);
  db.exec('PRAGMA query_only = 1');
  expect(() => write(batch)).toThrow(/readonly/);
  expect(lockWaitMs()).toBe(0);
  db.exec('PRAGMA query_only = 0');
  await write({ records: [], spans: [] });
  expect(lockWaitMs()).toBe(1_234);
  db.close();
});
