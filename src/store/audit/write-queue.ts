import { HeddleError } from '../../core/errors.ts';
import type { AuditHead } from '../../core/records/audit-entry.ts';
import type { Clock } from '../../core/time.ts';
import type { AuditRecord, Later } from '../audit-log.ts';
import { toAuditRow, toSpanRow } from '../rows.ts';
import type { RunFence } from '../run-journal.ts';
import type { JoinedWrites, JournalBatch, JournalRefusal } from '../runs/joined-writes.ts';
import type { JournalRows } from '../runs/journal-rows.ts';
import type { AuditRow, SealedRow, SpanRow } from '../tables.ts';
import type { Span } from '../trace-log.ts';
import { type ChainHead, sealRecord, startChain } from './hash-chain.ts';

const KEPT_RECORDS = 10_000;
const RETRY_MS = 1_000;
// Longest delay before non-durable records are flushed without a durable one.
const FLUSH_DELAY_MS = 25;
const MANY_SPANS = 500;
const TURNS_UNDER_LOAD = 3;
const DRAIN_ATTEMPTS = 2;

/** The rows of one transaction. */
export interface QueuedBatch {
  readonly records: readonly SealedRow[];
  readonly spans: readonly SpanRow[];
  /** Present if the batch has writes of runs, or records of their calls. */
  readonly journal?: JournalBatch;
}

/** Commits the whole batch or throws. The queue waits for it before it writes the next batch. */
export type WriteBatch = (batch: QueuedBatch) => void | Promise<void>;

/** Finds the newest audit record, to which a new segment is linked. */
export type FindNewest = () => Promise<AuditHead | undefined>;

interface Entry {
  /** The record until its row is made. */
  record: Later<AuditRecord> | undefined;
  row: AuditRow | undefined;
  readonly waiting: { resolve(place: AuditHead): void; reject(error: HeddleError): void } | undefined;
  readonly fence: RunFence | undefined;
}

const NO_WRITES: readonly JournalRows[] = [];

/**
 * Writes all records of one turn of the event loop in one transaction, and of up to four turns under load.
 * Non-durable records are written with the next durable one, or after 25 ms.
 */
export class WriteQueue {
  readonly #write: WriteBatch;
  readonly #newest: FindNewest;
  readonly #clock: Clock;
  #entries: Entry[] = [];
  #spans: Later<Span>[] = [];
  #journal: JoinedWrites | undefined;
  /** True if a queued record has a fence. */
  #isFenced = false;
  #lost = 0;
  /** The number of durable records in the last batch. */
  #lastDurable = 0;
  /** Undefined until the first batch, and after a failed one. */
  #head: ChainHead | undefined;
  #running: Promise<void> | undefined;
  #scheduled: NodeJS.Immediate | undefined;
  #flushTimer: NodeJS.Timeout | undefined;
  #isFlushDue = false;
  #retry: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(write: WriteBatch, clock: Clock, newest: FindNewest = async () => undefined) {
    this.#write = write;
    this.#newest = newest;
    this.#clock = clock;
  }

  /** True while records wait to be written. */
  get hasQueued(): boolean {
    return this.#entries.length > 0 || this.#running !== undefined;
  }

  append(record: Later<AuditRecord>): void {
    this.#entries.push({ record, row: undefined, waiting: undefined, fence: undefined });
    this.#flushLater();
  }

  appendDurably(record: Later<AuditRecord>, fence?: RunFence): Promise<AuditHead> {
    if (this.#closing) return Promise.reject(auditUnavailable('The store is closed'));
    const waiting = Promise.withResolvers<AuditHead>();
    this.#entries.push({ record, row: undefined, waiting, fence });
    if (fence) this.#isFenced = true;
    this.#wake();
    return waiting.promise;
  }

  /** Lets writes of runs join the batches. The returned functions commit them at once, or within 25 ms. */
  join(journal: JoinedWrites): { now(): void; soon(): void } {
    this.#journal = journal;
    // A run may wait for nothing but its writes, so these keep the process alive.
    return { now: () => this.#wake(), soon: () => this.#flushLater()?.ref() };
  }

  appendSpan(span: Later<Span>): void {
    this.#spans.push(span);
    this.#flushLater();
  }

  /** Resolves once the spans that are queued now are written or dropped, so that a reader counts the calls that have ended. */
  async spansWritten(): Promise<void> {
    const last = this.#spans.at(-1);
    while (last !== undefined && this.#spans.includes(last) && !this.#closing) {
      this.#isFlushDue = true;
      this.#wake();
      await (this.#running ?? new Promise(setImmediate));
    }
    await this.#running;
  }

  /** Writes the queued records. Rejects with AUDIT_UNAVAILABLE when audit records were lost. */
  close(): Promise<void> {
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  #flushLater(): NodeJS.Timeout | undefined {
    if (this.#closing) return undefined;
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined;
      this.#isFlushDue = true;
      this.#wake();
    }, FLUSH_DELAY_MS).unref();
    return this.#flushTimer;
  }

  // Several durable records in the last batch mean load: three more turns put more calls into one commit.
  #wake(turns = this.#lastDurable > 1 ? TURNS_UNDER_LOAD : 0): void {
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
    const arrived = this.#entries.length > kept || this.#isFlushDue || this.#journal?.isUrgent === true;
    if (arrived) this.#wake();
    else if (kept + (this.#journal?.size ?? 0) > 0 && !this.#closing)
      this.#retry = setTimeout(() => this.#wake(), RETRY_MS).unref();
  }

  /** Returns the number of entries that stay queued for the next batch. */
  async #flush(): Promise<number> {
    const all = this.#entries;
    this.#entries = [];
    let batch = this.#writable(all);
    let writes = this.#journal?.take() ?? NO_WRITES;
    const isFenced = this.#isFenced;
    this.#isFenced = false;
    const spans = this.#dueSpans();
    for (;;) {
      const lost = this.#lost;
      const rows = batch.map(({ row }) => row as AuditRow);
      if (lost > 0) rows.unshift(lossOf(lost, this.#clock()));
      const journal = isFenced || writes.length > 0 ? { fences: fencesOf(batch, writes), writes } : undefined;
      try {
        this.#head ??= startChain(await this.#newest());
        const { sealed: records, head } = sealRecord(this.#head, rows);
        await this.#write(journal ? { records, spans, journal } : { records, spans });
        this.#head = head;
        this.#lost -= lost;
        this.#settle(batch, records);
        return 0;
      } catch (cause) {
        const refusal = this.#journal?.refuse(cause);
        if (!refusal) return this.#keep(batch, cause);
        batch = refuseStale(batch, refusal);
        writes = refusal.writes;
      }
    }
  }

  #settle(batch: readonly Entry[], records: readonly SealedRow[]): void {
    this.#lastDurable = this.#journal?.committed() ?? 0;
    const first = records.length - batch.length;
    for (let at = 0; at < batch.length; at += 1) {
      const waiting = batch[at]?.waiting;
      if (!waiting) continue;
      this.#lastDurable++;
      waiting.resolve(records[first + at] as SealedRow);
    }
  }

  // Spans wait for a flush or for 500 of them: one span of many costs a fraction of a single write.
  #dueSpans(): readonly SpanRow[] {
    if (!this.#isFlushDue && !this.#closing && this.#spans.length < MANY_SPANS) return [];
    const spans = this.#spans;
    this.#isFlushDue = false;
    this.#spans = [];
    return spans.flatMap(spanRowOf);
  }

  /** Makes the rows. A record that is no JSON rejects its waiting call, or counts as lost; the others are written. */
  #writable(all: readonly Entry[]): readonly Entry[] {
    return all.filter((entry) => {
      try {
        makeRow(entry);
        return true;
      } catch (cause) {
        if (!entry.waiting) this.#lost++;
        entry.waiting?.reject(auditUnavailable('The audit record could not be written', cause));
        return false;
      }
    });
  }

  #keep(batch: readonly Entry[], cause: unknown): number {
    // The failed commit may have been applied, so its sequence numbers may be taken.
    this.#head = undefined;
    this.#journal?.keep(cause);
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
    clearTimeout(this.#flushTimer);
    clearTimeout(this.#retry);
    await this.#running;
    // Calls that end meanwhile add records. A write over a lost connection fails once.
    for (let failures = 0; this.#hasUnwritten && failures < DRAIN_ATTEMPTS; ) {
      const kept = await this.#flush();
      if (kept + (this.#journal?.size ?? 0) > 0) failures++;
    }
    this.#journal?.close();
    const unwritten = this.#entries.length + this.#lost;
    if (unwritten === 0) return;
    const records = unwritten === 1 ? 'record' : 'records';
    throw auditUnavailable(`The store was closed with ${unwritten} audit ${records} unwritten`);
  }

  get #hasUnwritten(): boolean {
    return this.#entries.length + this.#spans.length + (this.#journal?.size ?? 0) > 0;
  }
}

/** Makes the row once, so that a queued entry does not keep its call in memory. */
function makeRow(entry: Entry): void {
  if (entry.row) return;
  const { record } = entry;
  entry.row = toAuditRow(typeof record === 'function' ? record() : (record as AuditRecord));
  entry.record = undefined;
}

/** Returns each fence of a batch once. */
function fencesOf(batch: readonly Entry[], writes: readonly JournalRows[]): readonly RunFence[] {
  const fences = new Map<string, RunFence>();
  for (const { fence } of [...batch, ...writes]) if (fence) fences.set(`${fence.epoch} ${fence.run}`, fence);
  return [...fences.values()];
}

/** Rejects the records of lost runs, and returns the others. */
function refuseStale(batch: readonly Entry[], { errorOf }: JournalRefusal): readonly Entry[] {
  return batch.filter(({ fence, waiting }) => {
    const error = fence && errorOf(fence);
    if (error) waiting?.reject(error);
    return !error;
  });
}

function spanRowOf(span: Later<Span>): readonly SpanRow[] {
  try {
    return [toSpanRow(typeof span === 'function' ? span() : span)];
  } catch {
    return []; // A span that cannot be written must not fail its call.
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
