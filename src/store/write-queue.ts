import { HeddleError } from '../core/errors.ts';
import type { Clock } from '../core/time.ts';
import type { AuditRecord, Later } from './audit-log.ts';
import { sealRecord, startChain } from './hash-chain.ts';
import { toAuditRow, toSpanRow } from './rows.ts';
import type { AuditRow, SealedRow, SpanRow } from './tables.ts';
import type { Span } from './trace-log.ts';

const KEPT_RECORDS = 10_000;
const RETRY_MS = 1_000;
// How long what nobody waits for may wait for company. Most of it goes with the next call's own record.
const LINGER_MS = 25;
const MANY_SPANS = 500;
const TURNS_FOR_COMPANY = 3;

/** What one transaction writes. */
export interface QueuedBatch {
  readonly records: readonly SealedRow[];
  readonly spans: readonly SpanRow[];
}

/** Commits the whole batch or throws. Never called again before it has settled. */
export type WriteBatch = (batch: QueuedBatch) => void | Promise<void>;

interface Entry {
  /** Until its row is made. */
  record: Later<AuditRecord> | undefined;
  row: AuditRow | undefined;
  readonly waiting: { resolve(): void; reject(error: HeddleError): void } | undefined;
}

/**
 * Gathers what a turn of the event loop has to write, or a few of them under load, and writes it in one transaction.
 * What nobody waits for goes along with it, or by itself a moment later.
 */
export class WriteQueue {
  readonly #write: WriteBatch;
  readonly #clock: Clock;
  #entries: Entry[] = [];
  #spans: Later<Span>[] = [];
  #lost = 0;
  /** How many waited for the last batch. */
  #company = 0;
  #head = startChain();
  #running: Promise<void> | undefined;
  #scheduled: NodeJS.Immediate | undefined;
  #lingering: NodeJS.Timeout | undefined;
  #lingered = false;
  #retry: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(write: WriteBatch, clock: Clock) {
    this.#write = write;
    this.#clock = clock;
  }

  append(record: Later<AuditRecord>): void {
    this.#entries.push({ record, row: undefined, waiting: undefined });
    this.#linger();
  }

  appendDurably(record: Later<AuditRecord>): Promise<void> {
    if (this.#closing) return Promise.reject(auditUnavailable('The store is closed'));
    const waiting = Promise.withResolvers<void>();
    this.#entries.push({ record, row: undefined, waiting });
    this.#wake();
    return waiting.promise;
  }

  appendSpan(span: Later<Span>): void {
    this.#spans.push(span);
    this.#linger();
  }

  /** Writes what is left; rejects with AUDIT_UNAVAILABLE when audit records were lost. */
  close(): Promise<void> {
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  #linger(): void {
    if (this.#closing) return;
    this.#lingering ??= setTimeout(() => {
      this.#lingering = undefined;
      this.#lingered = true;
      this.#wake();
    }, LINGER_MS).unref();
  }

  // Where several waited the last time others are on their way, and a commit shared by more costs each of them less.
  #wake(turns = this.#company > 1 ? TURNS_FOR_COMPANY : 0): void {
    if (this.#scheduled || this.#running || this.#closing) return;
    this.#scheduled = setImmediate(() => {
      this.#scheduled = undefined;
      if (turns > 0) this.#wake(turns - 1);
      else this.#running = this.#run();
    });
  }

  async #run(): Promise<void> {
    clearTimeout(this.#retry);
    const kept = await this.#flush();
    this.#running = undefined;
    const arrived = this.#entries.length > kept || this.#lingered;
    if (arrived) this.#wake();
    else if (kept > 0 && !this.#closing) this.#retry = setTimeout(() => this.#wake(), RETRY_MS).unref();
  }

  /** Returns how many entries of this batch are kept for the next one. */
  async #flush(): Promise<number> {
    const all = this.#entries;
    this.#entries = [];
    const { batch, rows } = this.#rowsOf(all);
    const spans = this.#dueSpans();
    const lost = this.#lost;
    if (lost > 0) rows.unshift(lossOf(lost, this.#clock()));
    const { sealed, head } = sealRecord(this.#head, rows);
    try {
      await this.#write({ records: sealed, spans });
    } catch (cause) {
      // The commit may have gone through although we were not told: these sequence numbers may be taken.
      this.#head = startChain();
      return this.#keep(batch, cause);
    }
    this.#head = head;
    this.#lost -= lost;
    this.#company = 0;
    for (const { waiting } of batch) {
      if (!waiting) continue;
      this.#company++;
      waiting.resolve();
    }
    return 0;
  }

  // A span is in no hurry, and among many it costs a fraction of what it costs alone.
  #dueSpans(): readonly SpanRow[] {
    if (!this.#lingered && !this.#closing && this.#spans.length < MANY_SPANS) return [];
    const spans = this.#spans;
    this.#lingered = false;
    this.#spans = [];
    return spans.flatMap(spanRowOf);
  }

  /** What cannot be said as JSON is refused to whoever waits for it, and is otherwise lost: the rest has to be written. */
  #rowsOf(all: readonly Entry[]): { batch: readonly Entry[]; rows: AuditRow[] } {
    const rows: AuditRow[] = [];
    const batch = all.filter((entry) => {
      try {
        rows.push(rowOf(entry));
        return true;
      } catch (cause) {
        if (!entry.waiting) this.#lost++;
        entry.waiting?.reject(auditUnavailable('The audit record could not be written', cause));
        return false;
      }
    });
    return { batch, rows };
  }

  #keep(batch: readonly Entry[], cause: unknown): number {
    const error = auditUnavailable('The audit log could not be written', cause);
    for (const entry of batch) entry.waiting?.reject(error);
    const undurable = batch.filter((entry) => !entry.waiting);
    const kept = undurable.slice(-KEPT_RECORDS);
    this.#lost += undurable.length - kept.length;
    this.#entries = [...kept, ...this.#entries];
    return kept.length;
  }

  async #drain(): Promise<void> {
    clearImmediate(this.#scheduled);
    clearTimeout(this.#lingering);
    clearTimeout(this.#retry);
    await this.#running;
    if (this.#entries.length + this.#spans.length > 0) await this.#flush();
    const unwritten = this.#entries.length + this.#lost;
    if (unwritten === 0) return;
    const records = unwritten === 1 ? 'record' : 'records';
    throw auditUnavailable(`The store was closed with ${unwritten} audit ${records} unwritten`);
  }
}

/** Made once: what is kept for another time holds on to no call. */
function rowOf(entry: Entry): AuditRow {
  if (entry.row) return entry.row;
  const { record } = entry;
  entry.row = toAuditRow(typeof record === 'function' ? record() : (record as AuditRecord));
  entry.record = undefined;
  return entry.row;
}

function spanRowOf(span: Later<Span>): readonly SpanRow[] {
  try {
    return [toSpanRow(typeof span === 'function' ? span() : span)];
  } catch {
    return []; // A trace is never worth a call.
  }
}

function lossOf(count: number, at: number): AuditRow {
  const detail = { lostRecords: count, reason: 'They could not be written.' };
  return toAuditRow({ callId: '', phase: 'outcome', at, caller: 'heddle', via: 'store', name: 'audit', detail });
}

function auditUnavailable(what: string, cause?: unknown): HeddleError {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  return new HeddleError('AUDIT_UNAVAILABLE', `${what}${why}.`, { cause });
}
