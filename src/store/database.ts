import type { Kysely } from 'kysely';
import type { ApiKeyBook } from './api-key-book.ts';
import type { MetricsBook } from './metrics-book.ts';
import type { ServerBook } from './server-book.ts';
import type { Tables } from './tables.ts';
import type { WriteBatch } from './write-queue.ts';

/** What a dialect brings; the store is made of it. */
export interface Database {
  readonly write: WriteBatch;
  /** Loads the query builder on first use: most commands only append, and it is slow to load. */
  readonly queries: () => Promise<Kysely<Tables>>;
  readonly servers: ServerBook;
  readonly metrics: MetricsBook;
  readonly keys: ApiKeyBook;
  close(): Promise<void>;
}
