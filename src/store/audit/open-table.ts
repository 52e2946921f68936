import type { AuditTable } from './read-audit.ts';

const LOCK_WAIT_MS = 5_000;

/** Opens the audit table of a store read-only. */
export async function openTable(location: string): Promise<AuditTable & { close(): Promise<void> }> {
  if (/^postgres(ql)?:\/\//.test(location)) {
    const [{ openPool }, { postgresStatements }] = await Promise.all([
      import('../postgres/open-pool.ts'),
      import('../postgres/postgres-statements.ts'),
    ]);
    const pool = await openPool(location, { max: 1, options: '-c default_transaction_read_only=on' });
    return { ...postgresStatements(pool), close: () => pool.end() };
  }
  const [{ DatabaseSync }, { sqliteStatements }] = await Promise.all([
    import('node:sqlite'),
    import('../sqlite/sqlite-statements.ts'),
  ]);
  const db = new DatabaseSync(location, { readOnly: true, timeout: LOCK_WAIT_MS });
  return { ...sqliteStatements(db, Date.now), close: async () => db.close() };
}
