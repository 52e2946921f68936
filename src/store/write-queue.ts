import type { Clock } from '../core/clock.ts';
import { HeddleError } from '../core/errors.ts';
import type { AuditRecord } from './audit-log.ts';
import { seal, startChain } from './hash-chain.ts';
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
export interface Batch {
  readonly records: readonly SealedRow[];
  readonly spans: readonly SpanRow[];
}

/** Commits the whole batch or throws. Never called again before it has settled. */
export type WriteBatch = (batch: Batch) => void | Promise<void>;

interface Entry {
  readonly row: AuditRow;
  readonly waiting?: { resolve(): void; reject(error: HeddleError): void };
}

/**
 * Gathers what a turn of the event loop has to write, or a few of them under load, and writes it in one transaction.
 * What nobody waits for goes along with it, or by itself a moment later.
 */
export class WriteQueue {
  readonly #write: WriteBatch;
  readonly #clock: Clock;
  #entries: Entry[] = [];
  #spans: SpanRow[] = [];
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

  append(record: AuditRecord): void {
    this.#entries.push({ row: toAuditRow(record) });
    this.#linger();
  }

  appendDurably(record: AuditRecord): Promise<void> {
    if (this.#closing) return Promise.reject(auditUnavailable('The store is closed'));
    const waiting = Promise.withResolvers<void>();
    this.#entries.push({ row: toAuditRow(record), waiting });
    this.#wake();
    return waiting.promise;
  }

  appendSpan(span: Span): void {
    this.#spans.push(toSpanRow(span));
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
    const batch = this.#entries;
    const spans = this.#dueSpans();
    const lost = this.#lost;
    this.#entries = [];
    const rows = batch.map((entry) => entry.row);
    if (lost > 0) rows.unshift(lossOf(lost, this.#clock()));
    const { sealed, head } = seal(this.#head, rows);
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
    return spans;
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

function lossOf(count: number, at: number): AuditRow {
  const detail = { lostRecords: count, reason: 'The audit log could not be written for too long.' };
  return toAuditRow({ callId: '', phase: 'outcome', at, caller: 'heddle', via: 'store', name: 'audit', detail });
}

function auditUnavailable(what: string, cause?: unknown): HeddleError {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  return new HeddleError('AUDIT_UNAVAILABLE', `${what}${why}.`, { cause });
}
