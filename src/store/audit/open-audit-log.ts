import type { AuditHead } from '../../core/records/audit-entry.ts';
import type { AuditLog } from '../audit-log.ts';
import type { Database } from '../database.ts';
import { searchAudit } from '../queries/searches.ts';
import { type Statements, sql } from '../statements.ts';
import type { WriteQueue } from './write-queue.ts';

export interface AuditLogOptions {
  readonly database: Database;
  readonly queue: WriteQueue;
  /** Turns errors of the database into ours. */
  readonly guard: <T>(reading: Promise<T>) => Promise<T>;
}

/** Returns the audit log of a store. Whatever reads it is loaded on use: most commands only append. */
export function openAuditLog({ database, queue, guard }: AuditLogOptions): AuditLog {
  return {
    append: (record) => queue.append(record),
    appendDurably: (record) => queue.appendDurably(record),
    search: (query) => guard(database.queries().then((db) => searchAudit(db, query))),
    async *read(query, { order = 'newest', signal }) {
      const [{ readAudit }, { toAuditEntry }] = await Promise.all([import('./read-audit.ts'), import('../rows.ts')]);
      const batches = readAudit(database.statements, query, { order });
      for (;;) {
        signal.throwIfAborted();
        const { done, value } = await guard(batches.next());
        if (done) return;
        yield value.map(toAuditEntry);
      }
    },
    async verify({ head, signal }) {
      const [{ tableSource }, { verifyChains }] = await Promise.all([
        import('./table-source.ts'),
        import('./verify-chains.ts'),
      ]);
      return guard(verifyChains(tableSource(database.statements, signal), head));
    },
  };
}

/** Returns a function that finds the newest record, to which a new segment is linked. */
export const newestIn =
  ({ schema, read }: Pick<Statements, 'schema' | 'read'>) =>
  async (): Promise<AuditHead | undefined> => {
    const [row] = await read(
      sql`SELECT segment, sequence, hash FROM ${{ raw: schema }}.audit ORDER BY id DESC LIMIT 1`,
    );
    return row && { segment: String(row.segment), sequence: Number(row.sequence), hash: String(row.hash) };
  };
