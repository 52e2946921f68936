import type { AuditHead } from '../../core/records/audit-entry.ts';
import type { Clock } from '../../core/time.ts';
import type { AuditLog } from '../audit-log.ts';
import type { StoreDatabase } from '../database.ts';
import { searchAudit } from '../queries/searches.ts';
import { type Statements, sql } from '../statements.ts';
import type { ReadRange, StoredRow } from './read-audit.ts';
import type { WriteQueue } from './write-queue.ts';

export interface AuditLogOptions {
  readonly database: StoreDatabase;
  readonly queue: WriteQueue;
  readonly clock: Clock;
  /** The path or URL of the database; `:memory:` is read in this thread. */
  readonly location: string;
  /** Turns errors of the database into ours. */
  readonly guard: <T>(reading: Promise<T>) => Promise<T>;
}

/** Returns the audit log of a store. The parts that read it are loaded on use: most commands only append. */
export function openAuditLog(options: AuditLogOptions): AuditLog {
  const { database, queue, clock, guard } = options;
  const table = database.statements;
  const append: AuditLog['appendDurably'] = (record, fence) => queue.appendDurably(record, fence);
  const writing = { table, append, clock, hasQueued: () => queue.hasQueued };
  return {
    append: (record) => queue.append(record),
    appendDurably: append,
    search: (query) => guard(database.queries().then((db) => searchAudit(db, query))),
    async *read(query, { order = 'newest', from, signal }) {
      const { toAuditEntry } = await import('../rows.ts');
      const batches = await batchesOf(
        options,
        { query, range: { order, ...(from !== undefined && { from }) } },
        signal,
      );
      try {
        for (;;) {
          signal.throwIfAborted();
          const { done, value } = await unlessAborted(guard(batches.next()), signal);
          if (done) return;
          yield value.map(toAuditEntry);
        }
      } finally {
        await batches.return(undefined);
      }
    },
    verify: (wanted) => unlessAborted(guard(verify(options, wanted)), wanted.signal),
    async checkpoint(cause) {
      const { writeCheckpoint } = await import('./checkpoint.ts');
      return guard(writeCheckpoint(writing, cause));
    },
    async prune(before, cause) {
      const { pruneAudit } = await import('./prune.ts');
      return guard(pruneAudit(writing, before, cause));
    },
  };
}

type Wanted = { readonly query: Parameters<AuditLog['read']>[0]; readonly range: ReadRange };
type Batches = AsyncGenerator<readonly StoredRow[], unknown, undefined>;

async function batchesOf(
  { location, database }: AuditLogOptions,
  { query, range }: Wanted,
  signal: AbortSignal,
): Promise<Batches> {
  const { hasFewRows, readAudit } = await import('./read-audit.ts');
  const table = database.statements;
  if (location === ':memory:' || (await hasFewRows(table, range))) return readAudit(table, query, range);
  const { readInThread } = await import('./reader-thread.ts');
  return readInThread({ kind: 'read', location, query, range }, signal);
}

async function verify(
  { location, database }: AuditLogOptions,
  { head, file, signal }: Parameters<AuditLog['verify']>[0],
) {
  if (file !== undefined) return (await import('./export-file.ts')).verifyExport(file, head, signal);
  if (location !== ':memory:')
    return (await import('./reader-thread.ts')).verifyInThread({ kind: 'verify', location, head }, signal);
  const [{ tableSource }, { verifyChains }] = await Promise.all([
    import('./table-source.ts'),
    import('./verify-chains.ts'),
  ]);
  return verifyChains(tableSource(database.statements, signal), head);
}

/** Rethrows the reason of an abort instead of the error that it caused. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  }
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
