import type { Finding } from '../core/records/finding.ts';
import type { ApiKeyBook } from './api-key-book.ts';
import type { AuditLog } from './audit-log.ts';
import type { MetricsBook } from './metrics-book.ts';
import type { ServerBook } from './server-book.ts';
import type { TraceLog } from './trace-log.ts';

/** All state that survives a restart. */
export interface Store {
  readonly audit: AuditLog;
  readonly traces: TraceLog;
  readonly servers: ServerBook;
  readonly metrics: MetricsBook;
  readonly keys: ApiKeyBook;
  /** Tests whether the store can be written. */
  examine(): Promise<Finding>;
  /** Writes the queued records, then closes the database. */
  close(): Promise<void>;
}
