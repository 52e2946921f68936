import type { Finding } from '../core/records/finding.ts';
import type { ApiKeyBook } from './api-key-book.ts';
import type { ApprovalBox } from './approval-box.ts';
import type { CallBook } from './approvals/call-book.ts';
import type { SpendingBook } from './approvals/spending-book.ts';
import type { StandingBook } from './approvals/standing-book.ts';
import type { AuditLog } from './audit-log.ts';
import type { LeaseBook } from './lease-book.ts';
import type { MetricsBook } from './metrics-book.ts';
import type { RunJournal } from './run-journal.ts';
import type { RunQueue } from './run-queue.ts';
import type { FailureBook, ServerBook } from './server-book.ts';
import type { SignInBook } from './sign-in-book.ts';
import type { TokenVault } from './token-vault.ts';
import type { TraceLog } from './trace-log.ts';
import type { ClientBook } from './vault/client-book.ts';
import type { RekeyReport } from './vault/reseal-all.ts';

/** All state that survives a restart. */
export interface Store {
  readonly audit: AuditLog;
  readonly traces: TraceLog;
  readonly servers: ServerBook;
  readonly failures: FailureBook;
  readonly metrics: MetricsBook;
  readonly keys: ApiKeyBook;
  readonly approvals: ApprovalBox;
  readonly approvalCalls: CallBook;
  readonly standing: StandingBook;
  readonly spending: SpendingBook;
  readonly vault: TokenVault;
  readonly clients: ClientBook;
  readonly signIns: SignInBook;
  readonly leases: LeaseBook;
  readonly runs: RunJournal;
  /** Present on SQLite. On Postgres the durable engine has its own queue. */
  readonly runQueue?: RunQueue;
  /** Seals every credential with the key that is chosen now. Rows of a key that is not available stay as they are. */
  rekey(): Promise<RekeyReport>;
  /** Tests whether the store can be written. */
  examine(): Promise<Finding>;
  /** Writes the queued records, then closes the database. */
  close(): Promise<void>;
}
