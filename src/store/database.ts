import type { Kysely } from 'kysely';
import type { Clock } from '../core/time.ts';
import type { ApiKeyBook } from './api-key-book.ts';
import type { WriteBatch } from './audit/write-queue.ts';
import type { MetricsBook } from './metrics-book.ts';
import type { ServerBook } from './server-book.ts';
import type { Statements } from './statements.ts';
import type { Tables } from './tables.ts';

export interface DatabaseOptions {
  readonly clock: Clock;
  /** `disk`: a commit waits for the disk. Default: `commit`, which a power failure may undo. */
  readonly durability?: 'commit' | 'disk';
}

/** The parts of a store that differ between SQLite and Postgres. */
export interface StoreDatabase {
  /** True if all processes that share the database are on one machine. */
  readonly isEmbedded: boolean;
  readonly write: WriteBatch;
  /** Loads the query builder on first use, because it is slow to load and most commands only append. */
  readonly queries: () => Promise<Kysely<Tables>>;
  /** Runs the statements that are written once for all databases. */
  readonly statements: Statements;
  readonly servers: ServerBook;
  readonly metrics: MetricsBook;
  readonly keys: ApiKeyBook;
  close(): Promise<void>;
}
